# SPDX-License-Identifier: MIT
"""gdb commands for Sonde, loaded by `make debug`:

    sonde-tasks     every thread, where it stands, and its CPU
    sonde-probes    every probe, where it is and what it counted

They read the kernel's memory only, so they work wherever it is stopped.
"""

import gdb


def entries(head, type_name, member):
    """The objects of an intrusive list; stops at a broken link."""
    kind = gdb.lookup_type(type_name)
    offset = next(f.bitpos // 8 for f in kind.fields() if f.name == member)
    link, seen = head['next'], set()
    while int(link) not in seen and link != head.address:
        seen.add(int(link))
        yield gdb.Value(int(link) - offset).cast(kind.pointer()).dereference()
        link = link['next']


def in_order(node, type_name, member):
    """The objects of an intrusive search tree, smallest first."""
    if not node:
        return
    kind = gdb.lookup_type(type_name)
    offset = next(f.bitpos // 8 for f in kind.fields() if f.name == member)
    yield from in_order(node['child'][0], type_name, member)
    yield gdb.Value(int(node) - offset).cast(kind.pointer()).dereference()
    yield from in_order(node['child'][1], type_name, member)


def where(pc):
    """An address as name+offset."""
    text = gdb.execute(f'info symbol {int(pc):#x}', to_string=True).strip()
    return text.split(' in section')[0].replace(' + ', '+')


class Command(gdb.Command):
    """Registers itself under the name that the class gives."""

    def __init__(self):
        super().__init__(self.name, gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        if argument:
            raise gdb.GdbError(f'{self.name} takes no argument')
        self.show()


class Tasks(Command):
    """Every thread of the kernel."""
    name = 'sonde-tasks'

    def show(self):
        print(f'{"ID":>5}  {"NAME":20} {"STATE":10} {"CPU":>3} {"SWITCHES":>9}')
        for t in entries(gdb.parse_and_eval("'thread.c'::threads"),
                         'struct thread', 'all'):
            state = str(t['state']).replace('THREAD_', '').lower()
            if t['on_cpu']:
                state = 'running'
            elif t['preempted'] and state == 'ready':
                state = 'preempted'
            print(f'{int(t["id"]):5}  {t["name"].string():20} {state:10} '
                  f'{int(t["cpu"]):3} {int(t["switches"]):9}')


class Probes(Command):
    """Every registered probe."""
    name = 'sonde-probes'

    def show(self):
        print(f'{"ADDRESS":18} {"HITS":>9} {"MISSED":>7}  WHERE')
        root = gdb.parse_and_eval("'site.c'::by_addr.node")
        for site in in_order(root, 'struct site', 'node'):
            for i in range(int(site['set']['n'])):
                p = site['set']['probes'][i].dereference()
                off = ' (disabled)' if int(p['flags']) & 1 else ''
                print(f'{int(p["addr"]):#018x} {int(p["nhit"]):9} '
                      f'{int(p["nmissed"]):7}  {where(p["addr"])}{off}')


for command in (Tasks, Probes):
    command()
