# SPDX-License-Identifier: MIT
"""The x86_64 map: each line is a form, matched by one AND against a key.

A form's mask has a bit for every value of a field that it accepts; the
decoder's key has the bit of the value that is there:

    27    20 19    12 11  10 9    6 5  4 3     0
    |  rm  | | reg  | | mod | |  l | | w| |  pp |
                       reg mem      (1,0) f2 f3 66 np
"""
from insn_gen.lines import MapError

SPACES = ["legacy", "0f", "0f38", "0f3a", "3dnow", "vex1", "vex2", "vex3",
          None, "evex1", "evex2", "evex3", None, "evex5", "evex6",
          "xop8", "xop9", "xop10"]

# A field of the mask: its lowest bit and its names from there on.
FIELDS = [(0, ["np", "66", "f3", "f2"]), (4, ["w0", "w1"]),
          (6, ["l0", "l1", "l2"]), (10, ["mem", "reg"])]
BITS = {name: (low, 1 << (low + i))
        for low, names in FIELDS for i, name in enumerate(names)}
WIDTH = {0: 4, 4: 2, 6: 4, 10: 2, 12: 8, 20: 8}

IMM = {"ib", "iw", "iz", "iv", "ib2", "iwb", "id", "mo", "jb", "jz", "jzw"}
CHECK = {"cr": "CR", "dr": "DR", "seg": "SEG", "seg!": "SEG_NOT_CS",
         "bnd": "BND", "bnd2": "BND_BOTH", "mib": "BND_MIB",
         "norexb": "NO_REX_B", "kreg": "K_REG",
         "krm": "K_RM", "k3": "K_ALL", "tmm": "TILE", "tmm3": "TILES",
         "gpr": "GPR", "vsib": "GATHER", "vscatter": "SCATTER",
         "apart": "APART"}
EXT = {"lock": "LOCK", "d64": "D64", "nomem": "NOMEM", "novvvv": "NOVVVV",
       "k": "K", "k!": "K_NEEDED", "z": "Z", "zr": "Z_REG", "bc": "B_MEM",
       "er": "B_REG", "sae": "B_REG", "b": "B_REG"}
FLAGS = {"rel": "BRANCH_REL", "cond": "COND", "call": "CALL", "ret": "RET",
         "ind": "INDIRECT", "far": "FAR", "loop": "LOOP",
         "syscall": "SYSCALL", "sysret": "SYSRET", "softint": "SOFTINT",
         "trap": "TRAP", "pushf": "FLAGS_PUSH", "popf": "FLAGS_POP",
         "irq": "IRQ_CHANGE", "shadow": "SHADOW", "state": "STATE_WRITE",
         "priv": "PRIV", "io": "IO", "str": "REP_STRING", "nop": "NOP",
         "fp": "FPVEC", "halt": "HALT"}


def numbers(line, text, base):
    """`0-3,6` -> [0, 1, 2, 3, 6]"""
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            yield from range(int(first, base), int(last or first, base) + 1)
    except ValueError:
        raise MapError(line, f"bad numbers `{text}`") from None


class Form:
    """One line of the map, as the fields of struct insn_form."""

    def __init__(self, line, space):
        self.fields = {}
        self.flags, self.ext = [], []
        self.imm, self.check, self.emu, self.deny = "NONE", "NONE", "NONE", None
        for word in line.words[1:]:
            self.word(line, word)
        if space.startswith("evex"):
            self.fields.setdefault(6, 7 << 6)  # L'L = 3 is no length
        self.mask = 0
        for low, width in WIDTH.items():
            self.mask |= self.fields.get(low, (1 << width) - 1 << low)
        deny = f"INSN_DENY_{self.deny}" if self.deny else "INSN_OK"
        self.text = (f"0x{self.mask:07x}, {self.any('INSN_', self.flags)}, "
                     f"{self.any('X_', self.ext)}, IMM_{self.imm}, "
                     f"CHECK_{self.check}, X86_EMU_{self.emu}, {deny}")

    def allowed(self, low):
        """The values of a field that the form accepts."""
        return [n for n in range(WIDTH[low]) if self.mask >> low + n & 1]

    @staticmethod
    def any(prefix, names):
        return " | ".join(prefix + name for name in names) or "0"

    def accept(self, low, bits):
        self.fields[low] = self.fields.get(low, 0) | bits

    def word(self, line, word):
        if word == "m":
            self.ext.append("MODRM")
        elif word.split(",")[0] in BITS:
            for part in word.split(","):
                if part not in BITS:
                    raise MapError(line, f"unknown word `{part}`")
                self.accept(*BITS[part])
            if word in ("mem", "reg"):
                self.ext.append("MODRM")
        elif word[0] == "/":
            for n in numbers(line, word[1:], 10):
                self.accept(12, 1 << 12 + n)
        elif word.startswith("rm="):
            for n in numbers(line, word[3:], 10):
                self.accept(20, 1 << 20 + n)
        elif word.startswith("emu="):
            self.emu = word[4:]
        elif word.startswith("deny="):
            self.deny = word[5:]
        elif word in IMM:
            self.imm = word.upper()
        elif word in CHECK:
            self.check = CHECK[word]
        elif word in EXT:
            self.ext.append(EXT[word])
        elif word in FLAGS:
            self.flags.append(FLAGS[word])
        else:
            raise MapError(line, f"unknown word `{word}`")


def read_forms(lines):
    """Yields the map's lines as (line, space, opcodes, form)."""
    space = None
    for line in lines:
        if line.words[0] != "map":
            opcodes = list(numbers(line, line.words[0], 16))
            yield line, space, opcodes, Form(line, space)
        elif line.words[1] not in SPACES:
            raise MapError(line, f"no map `{line.words[1]}`")
        else:
            space = line.words[1]


def generate(lines):
    """-> the text of insn_table.h"""
    table = {}
    for line, space, opcodes, form in read_forms(lines):
        for opcode in opcodes:
            forms = table.setdefault((SPACES.index(space), opcode), [])
            if forms and ("MODRM" in forms[0].ext) != ("MODRM" in form.ext):
                raise MapError(line, f"{opcode:02x} with and without ModRM")
            forms.append(form)
    return tables(table)


def tables(table):
    """Forms in lists that end with one marked last; opcodes point at them."""
    out, where = ["static const struct insn_form forms[] = {",
                  "\t{ 0, 0, 0, 0, 0, 0, 0, 1 }, /* no instruction */"], {}
    index = [[0] * 256 for _ in SPACES]
    count = 1
    for (space, opcode), forms in sorted(table.items()):
        key = tuple(form.text for form in forms)
        if key not in where:
            where[key] = count
            count += len(key)
            for i, text in enumerate(key):
                out.append(f"\t{{ {text}, {int(i == len(key) - 1)} }},")
        index[space][opcode] = where[key]
    out += ["};", "", f"static const u16 form_index[{len(SPACES)}][256] = {{"]
    for name, row in zip(SPACES, index):
        out.append(f"\t{{ /* {name} */")
        for i in range(0, 256, 16):
            out.append("\t\t" + ", ".join(map(str, row[i:i + 16])) + ",")
        out.append("\t},")
    return "\n".join(out + ["};", ""])
