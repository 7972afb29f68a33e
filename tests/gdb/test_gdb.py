# SPDX-License-Identifier: MIT
"""A gdb session on each machine: stop in a kernel function, look around.

gdb sees the machine through QEMU's own stub, as `make debug` uses it.
"""

import contextlib
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools'))
import qemu                                             # noqa: E402

# A function that a thread of the kernel calls in every boot, and its callers.
FUNCTION = 'monitor_main'
CALLERS = ['thread_entry']


@contextlib.contextmanager
def stopped(machine, tmp_path, cmdline):
    """A machine that waits for gdb; yields the path of the stub's socket."""
    if not machine.kernel.exists():
        pytest.skip(f'{machine.kernel} is not built')
    stub = tmp_path / 'gdb'
    command = machine.command(cmdline, f'file:{tmp_path}/console',
                              extra=qemu.gdb_stub(stub))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            while not stub.exists() and process.poll() is None:
                time.sleep(0.1)
            yield stub
        finally:
            process.kill()


def gdb(machine, stub, *commands):
    """What gdb prints for the commands, connected to the machine."""
    args = ['gdb-multiarch', '-batch', '-nx', '-ex', 'set pagination off',
            '-ex', 'set confirm off', '-ex', f'target remote {stub}']
    for command in commands:
        args += ['-ex', command]
    done = subprocess.run([*args, str(machine.kernel)], timeout=120, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, check=False)
    return done.stdout


@pytest.fixture(params=['x86_64', 'ppc64'])
def machine(request):
    return qemu.Machine(request.param, smp=2)


def test_a_breakpoint_stops_with_a_symbolised_backtrace(machine, tmp_path):
    with stopped(machine, tmp_path, '-- uptime') as stub:
        out = gdb(machine, stub, f'hbreak {FUNCTION}', 'continue', 'backtrace',
                  'info registers pc', 'finish')
    assert re.search(rf'(Breakpoint|hit) .*{FUNCTION}', out), out
    frames = re.findall(r'^#\d+ +(?:0x[0-9a-f]+ in )?(\w+)', out, re.M)
    assert frames[0] == FUNCTION, out
    for caller in CALLERS:
        assert caller in frames, out
    # The walk ends by itself, at the thread's first function.
    assert 'corrupt' not in out, out
    assert not re.search(r'^#.*\?\?', out, re.M), out


def test_every_cpu_is_a_thread_of_gdb(machine, tmp_path):
    with stopped(machine, tmp_path, '-- uptime') as stub:
        out = gdb(machine, stub, f'hbreak {FUNCTION}', 'continue',
                  'info threads', 'print cpu_count')
    assert len(re.findall(r'CPU#\d|Thread 1\.\d', out)) >= 2, out
    assert '= 2' in out, out


def test_our_commands_list_tasks_and_probes(machine, tmp_path):
    script = ROOT / 'tools' / 'gdb' / 'sonde.py'
    command = '-- probe add symtab_find; uptime; sym thread_entry; uptime'
    with stopped(machine, tmp_path, command) as stub:
        out = gdb(machine, stub, f'source {script}', 'hbreak cmd_uptime',
                  'continue', 'sonde-tasks', 'sonde-probes')
    assert re.search(r'^ +1  main +running', out, re.M), out
    assert re.search(r'^ +0  idle/0', out, re.M), out
    assert re.search(r'^0x[0-9a-f]{16}  symtab_find\S*  armed', out, re.M), out


# A case calls trace_now() twice, the second time with return probes on these.
HIJACKED = ['trace_inner', 'trace_middle', 'trace_outer']
TRACED = 'test=ret.a_backtrace_names_the_true_callers'


def true_callers(out):
    """The functions of a backtrace, without where returns are hijacked."""
    frames = re.findall(r'^#\d+ +(?:0x[0-9a-f]+ in )?(\w+)', out, re.M)
    return [f for f in frames if f != 'ret_trampoline'], len(frames)


def test_a_backtrace_passes_hijacked_frames(machine, tmp_path):
    with stopped(machine, tmp_path, TRACED) as stub:
        out = gdb(machine, stub, 'hbreak trace_now', 'continue', 'continue',
                  'backtrace 12')
    names, frames = true_callers(out)
    assert names[:5] == ['trace_now', *HIJACKED, 'call_outer'], out
    assert frames == len(names) + len(HIJACKED), out
    assert not re.search(r'^#.*\?\?|corrupt|Cannot access', out, re.M), out


def test_up_and_finish_pass_hijacked_frames(machine, tmp_path):
    with stopped(machine, tmp_path, TRACED) as stub:
        out = gdb(machine, stub, 'hbreak trace_now', 'continue', 'continue',
                  'up', 'up', 'up', 'frame 1', 'finish', 'echo first:\\n',
                  'backtrace 4', 'finish', 'echo second:\\n', 'backtrace 4')
    going_up, first, second = re.split('(?:first|second):\n', out)
    assert re.search('^#3 .*trace_middle', going_up, re.M), out
    # It has returned to the trampoline, and then to its true caller.
    assert true_callers(first)[0] == ['trace_middle', 'trace_outer'], out
    assert true_callers(second)[0][:2] == ['trace_middle', 'trace_outer'], out
    assert re.search('^#0 .*trace_middle', second, re.M), out


SLEEPER = """python
for t in entries(variable('threads'), 'struct thread', 'all'):
    if t['name'].string() == 'sleeper':
        print('sleeps in', *map(where, saved_frames(t)))
end"""


def test_frames_of_a_sleeping_thread_are_the_true_ones(machine, tmp_path):
    case = 'test=ret.a_backtrace_of_a_sleeping_thread_names_the_true_callers'
    script = tmp_path / 'sleeper.gdb'
    script.write_text(SLEEPER)
    with stopped(machine, tmp_path, case) as stub:
        out = gdb(machine, stub, f'source {ROOT}/tools/gdb/sonde.py',
                  'hbreak arch_context_regs', 'continue', f'source {script}')
    assert re.search(r'^sleeps in .*thread_sleep\S* trace_sleep\S* call_sleep',
                     out, re.M), out
    assert 'ret_trampoline' not in out, out


def test_a_backtrace_passes_detours(machine, tmp_path):
    case = 'test=detour.a_backtrace_of_a_handler_goes_on_in_the_probed_function'
    stop = ['continue', 'backtrace 12', 'echo next:\\n']
    with stopped(machine, tmp_path, case) as stub:
        out = gdb(machine, stub, f'source {ROOT}/tools/gdb/sonde.py',
                  'hbreak unwind_from_detour', *stop, *stop,
                  'info address trace_inner')
    direct, general, address = out.split('next:\n')
    entry = re.search('0x[0-9a-f]+', address)[0]
    for text in (direct, general):
        frames = re.findall(r'^#\d+ .*', text, re.M)
        assert 'unwind_from_detour' in frames[0], out
        at = next(i for i, f in enumerate(frames) if 'trace_middle' in f)
        # Its first instruction: gdb thinks of the one before.
        assert entry in frames[at - 1] or 'trace_inner' in frames[at - 1], out
        assert [name in f for name, f in zip(
            ('trace_outer', 'call_outer'), frames[at + 1:])] == [True] * 2, out


def test_commands_say_so_where_there_is_nothing_to_show(machine, tmp_path):
    script = f'source {ROOT}/tools/gdb/sonde.py'
    with stopped(machine, tmp_path, '-- uptime') as stub:
        out = gdb(machine, stub, script, 'sonde-tasks', 'sonde-cpus',
                  'sonde-probes', 'sonde-tasks foo')
    assert 'Python Exception' not in out and 'Traceback' not in out, out
    assert "invalid literal for int() with base 0: 'foo'" in out, out
