# SPDX-License-Identifier: MIT
"""How QEMU is started, in one place: `make run`, the tests and `make debug`.

A platform is a machine (x86_64, ppc64, ppc64le) with a way to boot it:

    pvh     x86_64, QEMU loads the kernel               0.1 s to the first byte
    bios    x86_64, GRUB from a CD image under SeaBIOS  0.5 s
    uefi    x86_64, the same image under OVMF           5 s
    vof     ppc64*, QEMU's minimal Open Firmware        0.1 s
    slof    ppc64*, the full one                        4 s

The accelerator is always TCG: what is offered as KVM on a rented machine may be
hundreds of times slower, and results would depend on it.
"""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OVMF = Path('/usr/share/OVMF')

BOOTS = {'x86_64': ('pvh', 'bios', 'uefi'),
         'ppc64': ('vof', 'slof'),
         'ppc64le': ('vof', 'slof')}

# Exit statuses of QEMU that are the kernel's own word; any other is failure.
# x86_64: isa-debug-exit turns v into v << 1 | 1. A triple fault gives 0 there.
# ppc64: RTAS power-off, and os-term with -action panic=exit-failure.
STATUS = {'x86_64': {0x10 << 1 | 1: 0, 0x11 << 1 | 1: 1},
          'ppc64': {0: 0, 1: 1},
          'ppc64le': {0: 0, 1: 1}}


def build_dir(machine):
    return ROOT / 'build' / machine


def kernel_status(machine, returncode):
    """The status the kernel left with, or None if it did not say."""
    return STATUS[machine].get(returncode)


def explain(machine, returncode):
    """Why QEMU ended without the kernel's word, for people."""
    if returncode < 0:
        return f'QEMU was ended by signal {-returncode}'
    if machine == 'x86_64' and returncode == 0:
        return 'the machine reset itself (triple fault), or QEMU was told to quit'
    return f'QEMU failed with status {returncode}'


@dataclass(frozen=True)
class Machine:
    """What to boot and how. `command()` makes QEMU's arguments of it."""
    machine: str = 'x86_64'
    boot: str = ''              # '': the fastest
    smp: int = 4
    cpu: str = ''               # '': max, power9
    memory: str = ''            # '': 256M, 512M
    icount: bool = False        # one instruction is one nanosecond; repeatable

    def __post_init__(self):
        boots = BOOTS.get(self.machine)
        if boots is None:
            raise ValueError(f'machine {self.machine}: there are '
                             f'{", ".join(BOOTS)}')
        if self.smp < 1:
            raise ValueError(f'{self.smp} CPUs: there must be one')
        if not self.boot:
            object.__setattr__(self, 'boot', boots[0])
        if self.boot not in boots:
            raise ValueError(f'{self.machine} boots by {", ".join(boots)}, '
                             f'not {self.boot}')

    def __str__(self):
        words = [self.machine, f'smp={self.smp}', self.boot]
        return ' '.join(words + [self.cpu] * bool(self.cpu)
                        + ['icount'] * self.icount)

    def command(self, cmdline='', serial='stdio', extra=(), iso=None):
        """The argument list. `iso` is needed to boot by bios and uefi; the
        kernel's command line is then the image's own (see make_iso)."""
        if self.machine == 'x86_64':
            args = self._x86_64(iso)
        else:
            args = self._ppc64()
        args += ['-accel', 'tcg', '-smp', str(self.smp), '-display', 'none',
                 '-nodefaults', '-no-reboot', '-serial', serial]
        if self.icount:
            args += ['-icount', 'shift=0,sleep=off',
                     '-rtc', 'base=2020-01-01T00:00:00,clock=vm']
        if not iso:
            args += ['-kernel', str(self.kernel), '-append', cmdline]
        return args + list(extra)

    @property
    def kernel(self):
        return build_dir(self.machine) / 'kernel.elf'

    @property
    def needs_iso(self):
        return self.boot in ('bios', 'uefi')

    def _x86_64(self, iso):
        args = ['qemu-system-x86_64', '-M', 'q35', '-cpu', self.cpu or 'max',
                '-m', self.memory or '256M',
                '-device', 'isa-debug-exit,iobase=0xf4,iosize=4']
        if self.boot == 'uefi':
            # The variables are written to: a snapshot keeps ours as they are.
            args += ['-drive', 'if=pflash,format=raw,readonly=on,'
                     f'file={OVMF}/OVMF_CODE_4M.fd',
                     '-drive', 'if=pflash,format=raw,snapshot=on,'
                     f'file={OVMF}/OVMF_VARS_4M.fd']
        if iso:
            args += ['-cdrom', str(iso), '-boot', 'd']
        return args

    def _ppc64(self):
        # The cap-* settings are what TCG can do; it warns without them.
        board = ('pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,'
                 'cap-ccf-assist=off')
        if self.boot == 'vof':
            board += ',x-vof=on'
        return ['qemu-system-ppc64', '-M', board, '-cpu', self.cpu or 'power9',
                '-m', self.memory or '512M', '-action', 'panic=exit-failure']


def gdb_stub(path):
    """Arguments that stop the machine at its reset, with a stub on a socket."""
    return ['-S', '-chardev', f'socket,id=gdb,path={path},server=on,wait=off',
            '-gdb', 'chardev:gdb']


def make_iso(kernel, cmdline, path):
    """A CD image that GRUB boots under SeaBIOS and OVMF."""
    quoted = "'" + cmdline.replace("'", "'\\''") + "'"
    with tempfile.TemporaryDirectory() as tree:
        boot = Path(tree) / 'boot'
        (boot / 'grub').mkdir(parents=True)
        shutil.copy(kernel, boot / 'kernel.elf')
        shutil.copy(ROOT / 'boot' / 'grub.cfg', boot / 'grub' / 'grub.cfg')
        (boot / 'cmdline.cfg').write_text(f'set cmdline={quoted}\n',
                                          encoding='utf-8')
        subprocess.run(['grub-mkrescue', '-o', str(path), tree], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
