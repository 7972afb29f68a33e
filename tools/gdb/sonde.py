# SPDX-License-Identifier: MIT
"""gdb commands that know Sonde's structures: `make debug` loads them.

    sonde-tasks         all threads; sonde-tasks ID: with its backtrace
    sonde-cpus          per-CPU state
    sonde-probes        sites and the probes on them

Backtraces go on in what a trap or a detour has interrupted, too.

They only read memory and registers, so they work on a stopped kernel in any
state, through QEMU's stub or on a dump. Needs the kernel's debug information.
"""

import gdb
from gdb.unwinder import Unwinder, register_unwinder

BACKTRACE_MAX = 32


def variable(name):
    """A variable of the kernel; static ones are found too."""
    found = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    if found is None:
        raise gdb.GdbError(f'this kernel has no variable {name}')
    return found.value()


def entries(head, type_name, member):
    """The objects of an intrusive list, as pointers; stops at a broken link."""
    kind = gdb.lookup_type(type_name)
    offset = next(f.bitpos // 8 for f in kind.fields() if f.name == member)
    link, seen = head['next'], set()
    while int(link) not in seen and link != head.address and int(link):
        seen.add(int(link))
        yield gdb.Value(int(link) - offset).cast(kind.pointer())
        link = link['next']


def where(pc):
    """'schedule+16', or the number."""
    text = gdb.execute(f'info symbol {pc:#x}', to_string=True).strip()
    if text.startswith('No symbol'):
        return f'{pc:#x}'
    return text.split(' in section')[0].replace(' + ', '+')


def online_cpus():
    cpus = variable('cpus')
    return [cpus[i] for i in range(int(variable('cpu_count')))]


def word(address):
    """The unsigned long at an address; 0 where nothing can be read."""
    pointer = gdb.lookup_type('unsigned long').pointer()
    try:
        return int(gdb.Value(address).cast(pointer).dereference())
    except gdb.MemoryError:
        return 0


def is_ppc():
    return 'powerpc' in gdb.selected_inferior().architecture().name()


def true_return(thread, pc, sp):
    """Where a call returns to, though a return probe may have changed it."""
    if pc == int(gdb.parse_and_eval('(unsigned long)&ret_landing')):
        note = thread['ret']['top']
        while int(note) and int(note['below']):
            if int(note['sp']) == sp:
                return int(note['ret_addr'])
            note = note['below']
    return pc


def saved_frames(thread):
    """Return addresses of a thread that is switched out, innermost first."""
    sp = int(thread['ctx']['sp'])
    if is_ppc():                        # back chain, LR in the caller's frame
        for _ in range(BACKTRACE_MAX):
            sp = word(sp)
            if not sp or not word(sp + 16):
                return
            yield true_return(thread, word(sp + 16), sp)
    else:                               # r15 r14 r13 r12 bx bp, return address
        yield true_return(thread, word(sp + 48), sp + 48)
        bp = word(sp + 40)
        for _ in range(BACKTRACE_MAX):
            if not bp or not word(bp + 8):
                return
            yield true_return(thread, word(bp + 8), bp + 8)
            bp = word(bp)


def live_frames(cpu):
    """What a CPU runs: QEMU's gdb thread N is the CPU with hardware id N-1."""
    before = gdb.selected_thread()
    number = int(cpu['hw_id']) + 1
    for thread in gdb.selected_inferior().threads():
        if thread.num == number:
            thread.switch()
            frame = gdb.newest_frame()
            for _ in range(BACKTRACE_MAX):
                if not frame or not frame.pc():
                    break
                if frame.type() != gdb.INLINE_FRAME:
                    yield frame.pc()
                frame = frame.older()
            before.switch()
            return


class Command(gdb.Command):
    """One of ours: show() prints. What it cannot read is said in a line."""

    def __init__(self):
        super().__init__(self.NAME, gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        try:
            self.show(argument)
        except gdb.MemoryError as e:
            raise gdb.GdbError(f'{self.NAME}: the kernel is not so far yet, or '
                               f'lost: {e}') from e
        except ValueError as e:
            raise gdb.GdbError(f'{self.NAME}: {e}') from e


class Tasks(Command):
    """sonde-tasks [ID]: all threads and where they are; one with its backtrace."""

    NAME = 'sonde-tasks'

    def show(self, argument):
        wanted = int(argument, 0) if argument else None
        running = {int(c['thread']): c for c in online_cpus()}
        print(f'{"ID":>5}  {"NAME":16} {"STATE":9} {"CPU":>3}  PC')
        for t in entries(variable('threads'), 'struct thread', 'all'):
            if wanted is not None and int(t['id']) != wanted:
                continue
            cpu = running.get(int(t))
            frames = list(live_frames(cpu) if cpu is not None
                          else saved_frames(t))
            state = str(t['state']).replace('THREAD_', '').lower()
            if cpu is not None:
                state = 'running'
            elif t['preempted'] and state == 'ready':
                state = 'preempted'
            print(f'{int(t["id"]):5}  {t["name"].string():16} {state:9} '
                  f'{int(t["cpu"]):3}  {where(frames[0]) if frames else "?"}')
            if wanted is not None:
                for pc in frames:
                    print(f'         {pc:#018x}  {where(pc)}')


class Cpus(Command):
    """sonde-cpus: every CPU, its thread and how often it trapped."""

    NAME = 'sonde-cpus'

    def show(self, _):
        kinds = gdb.lookup_type('enum trap_kind').fields()
        for c in online_cpus():
            name = '-'
            if int(c['thread']):
                name = f'{c["thread"]["name"].string()}/' \
                       f'{int(c["thread"]["id"])}'
            online = 'online' if c['online'] else 'offline'
            print(f'cpu{int(c["id"])}  hw {int(c["hw_id"])}  {online}  '
                  f'runs {name}')
            counts = [(f.name.replace('TRAP_', '').lower().replace('_', ' '),
                       int(c['traps'][f.enumval])) for f in kinds
                      if f.name != 'TRAP_KIND_COUNT']
            print('      ' + ', '.join(f'{n} {k}' for k, n in counts if n))


class Probes(Command):
    """sonde-probes: every site, what stands in its text, its probes."""

    NAME = 'sonde-probes'

    def sites(self):
        """The hash table is large and nearly empty: read it at once."""
        buckets = variable('site_buckets')
        memory = gdb.selected_inferior().read_memory(
            int(buckets.address), buckets.type.sizeof).tobytes()
        width = buckets.type.target().sizeof
        for i in range(buckets.type.sizeof // width):
            if any(memory[i * width:(i + 1) * width]):
                site = buckets[i]
                while int(site):
                    yield site
                    site = site['next']

    def show(self, _):
        sites = sorted(self.sites(), key=lambda s: int(s['addr']))
        for s in sites:
            addr = int(s['addr'])
            armed = 'armed' if s['armed'] else 'not armed'
            original = ' '.join(f'{int(s["insn"]["bytes"][i]):02x}'
                                for i in range(int(s['insn']['len'])))
            print(f'{addr:#x}  {where(addr)}  {armed}, instruction '
                  f'{original}, slot {int(s["exec"]["at"]):#x}')
            p = s['probes']
            while int(p):
                handler = int(p['pre_handler'] or p['post_handler'])
                print(f'    {where(handler)}  {int(p["nhit"])} hits, '
                      f'{int(p["nmissed"])} missed')
                p = p['next']
        print(f'{len(sites)} sites')


class FrameId:
    """What gdb knows a frame by."""
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class Interrupted(Unwinder):
    """From code that has saved a struct pt_regs to what that tells of."""

    NAMES = {'ip': 'rip', 'nip': 'pc', 'link': 'lr'}

    def __init__(self):
        super().__init__('interrupted')

    @staticmethod
    def _between(pc, start, end):
        first, last = (int(gdb.parse_and_eval(f'(unsigned long)&{name}'))
                       for name in (start, end))
        return first <= pc < last

    def _regs(self, frame, pc):
        """Where the struct pt_regs is, if there is one; as arch_unwind()."""
        sp = int(frame.read_register('sp'))
        if is_ppc():
            returns = [int(gdb.parse_and_eval(f'(unsigned long)&{name}'))
                       for name in ('vec_trap_return', 'vec_break_return')]
            if pc in returns or self._between(pc, 'detour_start', 'detour_end'):
                return sp + 32
            return None
        if self._between(pc, 'vec_start', 'vec_end'):
            restart = gdb.parse_and_eval('(unsigned long)&vec_restart_return')
            return int(frame.read_register('rbp')) if pc == restart else sp
        if pc < 1 << 63 or self._between(pc, '__text_start', '__text_end'):
            return None
        return int(frame.read_register('rbp'))

    def _saved(self, regs):
        """Names of registers, and their values."""
        kind = gdb.lookup_type('struct pt_regs')
        for field in kind.fields():
            at = regs + field.bitpos // 8
            name = field.name
            if name == 'gpr':
                yield from ((f'r{i}', word(at + 8 * i)) for i in range(32))
            elif name in self.NAMES:
                yield self.NAMES[name], word(at)
            elif len(name) == 2 and not is_ppc() and name not in ('cs', 'ss'):
                yield (name if name in ('r8', 'r9') else 'r' + name), word(at)
            elif name.startswith('r1'):
                yield name, word(at)

    def __call__(self, frame):
        pc = int(frame.read_register('pc')) & (1 << 64) - 1
        regs = self._regs(frame, pc)
        if regs is None:
            return None
        info = frame.create_unwind_info(FrameId(gdb.Value(regs),
                                                gdb.Value(pc)))
        for name, value in self._saved(regs & (1 << 64) - 1):
            kind = frame.read_register(name).type
            info.add_saved_register(name, gdb.Value(value).cast(kind))
        return info


register_unwinder(None, Interrupted(), replace=True)
for command in (Tasks, Cpus, Probes):
    command()
