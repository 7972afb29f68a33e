# SPDX-License-Identifier: MIT
"""The ppc64 map: drawings of 32-bit words to masks, values and an index.

arch/ppc64/insn.map explains the language. The header holds
  enum ppc_op		one number per line, words before prefixed forms
  insn_rows[]		mask, value and properties of the (suffix) word, by op
  insn_prefixes[]	mask and value of the prefix word, from PPC_PREFIXED on
  insn_index[64]	per primary opcode: which bits choose a bucket
  insn_buckets[], insn_lists[]	the ops that a bucket's words can be
and, for host programs, insn_names[]: names, drawings as masks, reserved bits.
Lines that overlap without one being a special case of the other are errors."""
import re
from typing import NamedTuple

from .lines import MapError

WIDTHS = {
    **dict.fromkeys("AA LK Rc OE L R S W SX TX AX BX CX DX IX EH RO EX PS MP"
                    " ST PRS sh".split(), 1),
    **dict.fromkeys("BF BFA".split(), 3),
    **dict.fromkeys("RT RS RA RB RC FRT FRS FRA FRB FRC VRT VRS VRA VRB VRC"
                    " T A B C BT BA BB BO BI TO SH MB ME".split(), 5),
    "FXM": 8, "SPR": 10, "DQ": 12, "DS": 14, "D": 16, "SI": 16, "UI": 16,
}
PAIRS = set("RTp RSp FRTp FRSp FRAp FRBp".split())
ACCESS_FORM = {"D": 1, "SI": 1, "DS": 2, "RB": 3}
ADDRESS_FIELDS = ("D", "DS", "RB")


class Word(NamedTuple):
    mask: int
    value: int
    reserved: int  # the part of mask that is drawn as /
    pairs: int  # the part of mask that makes registers even
    fields: tuple  # (name, first bit from the right, width)


class Row(NamedTuple):
    line: object
    name: str
    ref: str
    prefix: Word
    word: Word
    flags: list
    deny: str
    check: str
    emu: str
    isa: str
    access: int

    @property
    def fixed(self):
        prefix = self.prefix.mask if self.prefix else 0
        return bin(self.word.mask).count("1") + bin(prefix).count("1")


def field_bits(line, token, first):
    """(name, width or None, value or None) of one token of a drawing."""
    if match := re.fullmatch(r"/(\d*)", token):
        return "/", int(match[1] or 1), 0
    if match := re.fullmatch(r"(\d+):(\d+)", token):
        return "", int(match[2]), int(match[1])
    if token.isdigit():
        return "", 6 if first else None, int(token)
    if token in PAIRS:
        return token, 5, None
    if match := re.fullmatch(r"SPR=(\d+)", token):
        number = int(match[1])
        return "SPR", 10, (number & 31) << 5 | number >> 5
    name, _, width = token.partition(":")
    if not width and name not in WIDTHS:
        raise MapError(line, f"unknown field {token}")
    return name, int(width or WIDTHS[name]), None


def parse_word(line, tokens):
    """Mask and value of a drawing of 32 bits."""
    parts = [field_bits(line, t, i == 0) for i, t in enumerate(tokens)]
    rest = 32 - sum(width or 0 for _, width, _ in parts)
    elastic = sum(width is None for _, width, _ in parts)
    if elastic > 1 or (rest == 0) != (elastic == 0) or rest < 0:
        raise MapError(line, f"{' '.join(tokens)}: {rest} bits remain")
    mask = value = reserved = pairs = 0
    fields = []
    for name, width, bits in parts:
        width = width or rest
        ones = (1 << width) - 1
        mask <<= width
        value <<= width
        reserved <<= width
        pairs <<= width
        if bits is not None:
            if bits > ones:
                raise MapError(line, f"{bits} needs more than {width} bits")
            mask |= ones
            value |= bits
            reserved |= ones if name == "/" else 0
        elif name in PAIRS:
            mask |= 1
            pairs |= 1
        fields = [(n, s + width, w) for n, s, w in fields] + [(name, 0, width)]
    return Word(mask, value, reserved, pairs, tuple(fields))


def parse_access(line, word, words):
    """The byte emulate.c reads: size, direction, extension, address form."""
    sizes = {"1": 0, "2": 1, "4": 2, "8": 3}
    access = 0
    for item in words:
        kind, _, size = item.partition("=")
        if kind in ("load", "store"):
            names = [name for name, _, _ in word.fields]
            form = [n for n in names if n in ADDRESS_FIELDS][-1]
            access |= sizes[size] | ACCESS_FORM[form] << 6
            access |= 4 if kind == "store" else 0
    for bit, name in ((8, "signed"), (16, "reversed"), (32, "update")):
        access |= bit if name in words else 0
    return access


def parse_row(line, forms, ref, common):
    name, *rest = line.words
    cut = rest.index(":") if ":" in rest else len(rest)
    drawing, attributes = rest[:cut], common + rest[cut + 1:]
    drawing = [t for token in drawing for t in forms.get(token, [token])]
    prefix = None
    if "|" in drawing:
        bar = drawing.index("|")
        prefix = parse_word(line, drawing[:bar])
        drawing = drawing[bar + 1:]
    word = parse_word(line, drawing)
    flags = ["prefixed"] if prefix else []
    deny, check, emu, isa = "ok", "none", "none", "2.07"
    access_words = []
    for item in attributes:
        key, _, value = item.partition("=")
        if key == "deny":
            deny = "deny_" + value
        elif key == "check":
            check = value
        elif key == "emu":
            emu = value
        elif key == "isa":
            isa = value
        elif key in ("load", "store", "signed", "reversed", "update"):
            access_words.append(item)
        else:
            flags.append(item)
    access = parse_access(line, word, access_words)
    return Row(line, name, ref, prefix, word, flags, deny, check,
               "access" if access else emu, isa, access)


def read_rows(lines):
    forms, ref, common, rows = {}, "", [], []
    for line in lines:
        head = line.words[0]
        if head == "form":
            name, *body = line.words[1:]
            forms[name] = [t for b in body for t in forms.get(b, [b])]
        elif head == "ref":
            ref = line.words[1]
            common = line.words[3:]
        else:
            rows.append(parse_row(line, forms, ref, common))
    return rows


def overlap(a, b):
    return a.mask & b.mask & (a.value ^ b.value) == 0


def check_rows(rows):
    """Every word must have at most one meaning, special cases aside."""
    names = set()
    for i, row in enumerate(rows):
        if row.name in names:
            raise MapError(row.line, f"{row.name} is there twice")
        names.add(row.name)
        for other in rows[:i]:
            if bool(row.prefix) != bool(other.prefix):
                continue
            if row.prefix and not overlap(row.prefix, other.prefix):
                continue
            if not overlap(row.word, other.word):
                continue
            both = row.word.mask & other.word.mask
            if row.prefix or row.fixed == other.fixed or \
                    both not in (row.word.mask, other.word.mask):
                raise MapError(row.line,
                               f"{row.name} overlaps {other.name}")


def bucket(rows, shift, bits):
    """For each value of those bits, the rows that can have it."""
    lists = []
    for key in range(1 << bits):
        probe = Word(((1 << bits) - 1) << shift, key << shift, 0, 0, ())
        lists.append([r for r in rows if overlap(probe, r.word)])
    return lists


def best_buckets(rows):
    """The bits of the word that leave the least to compare."""
    if len(rows) <= 1:
        return 0, 0, [rows]
    cost = {}
    for bits in range(1, 7):
        for shift in range(0, 22 - bits):
            lists = bucket(rows, shift, bits)
            used = [len(found) for found in lists if found]
            cost[sum(n * n for n in used) / len(used) + (1 << bits) / 16,
                 bits, shift] = lists
    least = min(cost)
    return least[2], least[1], cost[least]


def enum_name(row):
    return "PPC_" + row.name.upper().rstrip(".").replace(".", "_") + \
        ("_RC" if row.name.endswith(".") else "")


def c_row(row):
    flags = " | ".join(f"INSN_{f.upper()}" for f in row.flags) or "0"
    return (f"\t[{enum_name(row)}] = {{ {row.word.mask:#010x},"
            f" {row.word.value:#010x}, {flags}, INSN_{row.deny.upper()},"
            f" CHECK_{row.check.upper()}, EMU_{row.emu.upper()},"
            f" ISA_{row.isa.replace('.', '_')}, {row.access:#04x} }},")


def c_name(row):
    words = [row.word, row.prefix or Word(0, 0, 0, 0, ())]
    numbers = [f"{n:#x}" for w in words
               for n in (w.mask & ~w.pairs, w.value, w.reserved)]
    return f'\t{{ "{row.name}", {", ".join(numbers)} }},'


def generate(lines):
    rows = read_rows(lines)
    check_rows(rows)
    words = [r for r in rows if not r.prefix]
    prefixed = sorted((r for r in rows if r.prefix),
                      key=lambda r: r.prefix.value >> 24 & 3)
    out = ["enum ppc_op {", "\tPPC_NONE,"]
    out += [f"\t{enum_name(r)}," for r in words]
    out += [f"\t{enum_name(prefixed[0])},"]
    out += [f"\t{enum_name(r)}," for r in prefixed[1:]]
    out += ["\tPPC_OP_COUNT,", f"\tPPC_PREFIXED = {enum_name(prefixed[0])},",
            "};", "", "#ifdef PPC_INSN_TABLES",
            "static const struct insn_row insn_rows[PPC_OP_COUNT] = {"]
    out += [c_row(r) for r in words + prefixed]
    out += ["};", "", "static const struct insn_prefix insn_prefixes[] = {"]
    out += [f"\t{{ {r.prefix.mask:#010x}, {r.prefix.value:#010x} }},"
            f" /* {r.name} */" for r in prefixed]
    out += ["};", ""]
    index, buckets, lists = [], [], []
    for opcode in range(64):
        mine = sorted((r for r in words if r.word.value >> 26 == opcode),
                      key=lambda r: -r.fixed)
        shift, bits, found = best_buckets(mine)
        index.append(f"\t{{ {shift}, {bits}, {len(buckets)} }},")
        for entries in found:
            buckets.append(len(lists))
            lists += [enum_name(r) for r in entries]
        buckets.append(len(lists))
    out += ["static const struct insn_index insn_index[64] = {", *index, "};",
            "", "static const unsigned short insn_buckets[] = {"]
    out += ["\t" + " ".join(f"{b}," for b in buckets[i:i + 10])
            for i in range(0, len(buckets), 10)]
    out += ["};", "", "static const unsigned short insn_lists[] = {"]
    out += [f"\t{name}," for name in lists]
    out += ["};", "#endif", "", "#ifdef PPC_INSN_NAMES",
            "static const struct insn_name insn_names[PPC_OP_COUNT] = {",
            '\t{ "none", 0, 0, 0, 0, 0, 0 },']
    out += [c_name(r) for r in words + prefixed]
    out += ["};", "#endif"]
    return "\n".join(out) + "\n"
