# SPDX-License-Identifier: MIT
"""Encodings to run, made from the x86_64 map: of every line and opcode, with
each operand form, prefix and size that the line allows.

  struct { u8 len, bytes[15]; } insn_corpus[]
  const char *const insn_corpus_names[]		the mnemonics of its line
  insn_corpus_left_out[]			opcode and reason

A pc-relative operand is left 0: whoever runs it puts the address of memory
there. Branches go a little forward. Other memory is at rbx, rsi, rdi, rbp, rsp."""
import random

from .x86_64 import read_forms

# Not for every processor and program, by what the map says of the line.
LEFT_OUT = (
    ("PRIV", "privileged"),
    ("IO", "port input and output"),
    ("SYSCALL", "calls the system"),
    ("SYSRET", "returns from a call that was not"),
    ("SOFTINT", "calls the system"),
    ("TRAP", "traps by design"),
    ("FAR", "changes the code segment"),
    ("HALT", "waits for an interrupt"),
)
SEGMENTS = "would take a segment from the program that runs it"
TIME = "the time passes"
TABLES = "differs between processors of a machine"
STATE = "replaces vector state; its own tests"
USER_INTERRUPTS = "needs user interrupts"
# By map and opcode, or (opcode, ModRM.reg).
LEFT_OUT_OPCODES = {
    "legacy": {0x8e: SEGMENTS, 0xfa: "refused to users", 0xfb:
               "refused to users", (0xc7, 7): "starts a transaction",
               (0xc6, 7): "ends a transaction"},
    "0f": {0x00: TABLES, (0x01, 0): TABLES, (0x01, 1): TABLES,
           (0x01, 4): TABLES, (0x01, 7): TIME, 0x31: TIME, 0x33: TIME,
           (0x01, 5): USER_INTERRUPTS, (0x01, 2): STATE,
           (0x01, 3): "calls the hypervisor", 0x37: "needs SMX",
           0xa1: SEGMENTS, 0xa9: SEGMENTS, 0xb2: SEGMENTS, 0xb4: SEGMENTS,
           0xb5: SEGMENTS, 0xa2: TABLES, 0xa7: "random by design",
           (0xae, 0): STATE, (0xae, 1): STATE, (0xae, 2): STATE,
           (0xae, 3): STATE, (0xae, 4): STATE, (0xae, 5): STATE,
           (0xae, 6): STATE, (0xc7, 3): STATE, (0xc7, 4): STATE,
           (0xc7, 5): STATE, (0xc7, 6): "random by design",
           (0xc7, 7): "random by design", 0x1a: "needs MPX",
           0x1b: "needs MPX", (0x1e, 1): "needs shadow stacks"},
    "vex1": {0xae: STATE},
    "vex2": {op: "needs AMX" for op in (0x49, 0x4b, 0x5c, 0x5e)},
    "xop9": {0x12: "needs LWP"},
    "xop10": {0x12: "needs LWP"},
}
RBX, RSP, RBP, RSI, RDI = 3, 4, 5, 6, 7


def why_left_out(space, opcode, reg, form):
    table = LEFT_OUT_OPCODES.get(space, {})
    if opcode in table or (opcode, reg) in table:
        return table.get(opcode) or table[opcode, reg]
    if form.deny:
        return f"refused: {form.deny}"
    return next((why for flag, why in LEFT_OUT if flag in form.flags), None)


def little(value, size):
    return list((value & (1 << 8 * size) - 1).to_bytes(size, "little"))


def immediate(rng, form, opsize):
    imm = form.imm
    if imm in ("JB", "JZ"):
        return little(rng.randrange(1, 96), 1 if imm == "JB" else 4)
    if imm in ("IW", "IWB"):
        return little(8 * rng.randrange(4), 2) + [0] * (imm == "IWB")
    size = {"NONE": 0, "IB": 1, "IB2": 2, "ID": 4, "MO": 8, "IV": opsize,
            "IZ": min(opsize, 4)}[imm]
    return little(0 if imm == "MO" else rng.getrandbits(64), size)


def index_beside(reg):
    """An index register that is neither @reg nor rsp."""
    return (reg + 2) % 8 if (reg + 1) % 8 == RSP else (reg + 1) % 8


def operands(rng, form, reg, vsib):
    """ModRM, SIB and displacement: registers, then memory in its forms."""
    rms = [rm for rm in form.allowed(20)
           if form.check != "APART" or rm != reg]
    if 1 in form.allowed(10):
        for rm in rng.sample(rms, min(2, len(rms))):
            yield [0xc0 | reg << 3 | rm]
    if 0 not in form.allowed(10) or form.check in ("CR", "DR"):
        return
    sib = index_beside(reg) << 3 | RBX
    if vsib:
        yield [0x44 | reg << 3, sib | 0x40, rng.randrange(0, 64, 8)]
        return
    if RBP in rms and form.check != "BND_MIB":
        yield [reg << 3 | RBP, 0, 0, 0, 0]
    if RBX in rms:
        yield [reg << 3 | RBX]
        yield [0x40 | reg << 3 | rng.choice((RSI, RDI, RBP)),
               rng.randrange(-64, 64, 8) & 0xff]
    yield [0x84 | reg << 3, 0x24, *little(rng.randrange(0, 512, 8), 4)]


def prefixes(rng, space, reg, form):
    """(bytes before the opcode, operand size)"""
    pps, ws = form.allowed(0), form.allowed(4)
    if space in ("legacy", "0f", "0f38", "0f3a", "3dnow"):
        escape = {"0f": [0x0f], "0f38": [0x0f, 0x38], "0f3a": [0x0f, 0x3a],
                  "3dnow": [0x0f, 0x0f]}.get(space, [])
        if len(pps) == 4:
            pps = [0, 1] + [2, 3] * ("REP_STRING" in form.flags)
        if "FPVEC" in form.flags and len(ws) == 2:
            ws = [rng.randrange(2)]
        for pp in pps:
            for w in ws:
                rex = [0x48 | rng.choice((0, 0, 4))] if w else []
                size = 8 if w else 2 if pp == 1 else 4
                if "D64" in form.ext and size == 4:
                    size = 8
                yield [[], [0x66], [0xf3], [0xf2]][pp] + rex + escape, size
        return
    number = int(space.lstrip("vexop"))
    vvvv = 15 if "NOVVVV" in form.ext else 15 - rng.randrange(8)
    if form.check in ("GATHER", "APART"):
        vvvv = 15 - (reg + 3) % 8  # nor is this the index
    for pp in pps:
        for w in ws:
            for length in form.allowed(6):
                if space.startswith("evex"):
                    mask = rng.choice((0, 1 + rng.randrange(7)))
                    if "K_NEEDED" in form.ext:
                        mask = 1
                    elif "K" not in form.ext:
                        mask = 0
                    if form.check in ("GATHER", "SCATTER"):
                        vvvv = 15
                    yield [0x62, 0xf0 | number, w << 7 | vvvv << 3 | 4 | pp,
                           length << 5 | 8 | mask], 8 if w else 4
                elif length < 2:
                    yield [0x8f if space.startswith("xop") else 0xc4,
                           0xe0 | number,
                           w << 7 | vvvv << 3 | length << 2 | pp], 4


def encodings(rng, space, opcode, reg, form):
    if "MODRM" not in form.ext:
        for before, opsize in prefixes(rng, space, reg, form):
            yield before + [opcode] + immediate(rng, form, opsize)
        return
    vsib = form.check in ("GATHER", "SCATTER")
    for before, opsize in prefixes(rng, space, reg, form):
        choice = list(operands(rng, form, reg, vsib))
        if "FPVEC" in form.flags:  # sizes and prefixes make enough of them
            most = 1 if "vex" in space else 2
            choice = rng.sample(choice, min(most, len(choice)))
        for operand in choice:
            imm = immediate(rng, form, opsize)
            if space == "3dnow":
                yield before + operand + [opcode]
            else:
                yield before + [opcode] + operand + imm


def registers(rng, form):
    """ModRM.reg: all values that choose an instruction, or one."""
    regs = form.allowed(12)
    if "MODRM" not in form.ext:
        return [None]
    return [rng.choice(regs)] if len(regs) == 8 else regs


def corpus(lines):
    rng = random.Random(310)
    made, left_out = {}, {}
    for _, space, opcodes, form, in read_forms(lines):
        for opcode in opcodes:
            for reg in registers(rng, form):
                where = f"{space} {opcode:02x}"
                why = why_left_out(space, opcode, reg, form)
                if why:
                    left_out[where, why] = True
                    continue
                for code in encodings(rng, space, opcode, reg, form):
                    if len(code) <= 15:
                        made.setdefault(bytes(code), where)
    out = ["static const struct { u8 len, bytes[15]; } insn_corpus[] = {"]
    for code in made:
        text = ", ".join(f"{b:#04x}" for b in code)
        out.append(f"\t{{ {len(code)}, {{ {text} }} }},")
    out += ["};", "", "static const char *const insn_corpus_names[] = {"]
    out += [f'\t"{where}",' for where in made.values()]
    out += ["};", "", "static const struct { const char *name, *why; }",
            "insn_corpus_left_out[] = {"]
    out += [f'\t{{ "{where}", "{why}" }},' for where, why in left_out]
    return "\n".join(out + ["};"]) + "\n"
