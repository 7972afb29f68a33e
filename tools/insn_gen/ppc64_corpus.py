# SPDX-License-Identifier: MIT
"""Encodings to run, made from the ppc64 map: of every line, with operands that
make sense as addresses, and with each form of its one-bit fields.

  insn_corpus[]			words, and the line they came from; first is set
				for the first two of a line
  insn_corpus_names[]		the lines
  insn_corpus_left_out[]	name and reason

Registers are r0, r3 to r12 and, as a base with displacement, r1; r2 and r13
belong to the program that runs them. Displacements are multiples of 16 and
small; below r1 only if r1 moves there. Branches go a few words away, and not to
themselves or a suffix."""
import random

from .ppc64 import read_rows

# Not to be run by a user program, by what the map says of the line.
LEFT_OUT = (
    ("priv", "privileged"),
    ("syscall", "calls the system"),
    ("trap", "traps by design"),
    ("sysret", "returns from an interrupt that was not"),
    ("excl_load", "has no relocated form: load and reserve"),
    ("excl_store", "has no relocated form: load and reserve"),
    ("halt", "waits for an interrupt"),
)
# By name.
LEFT_OUT_NAMES = {
    "darn": "random by design",
    "mftb": "the time passes", "mftbu": "the time passes",
    "mfspr": "depends on which one; mfxer, mflr, mfctr are run",
    "mtspr": "depends on which one; mtxer, mtlr, mtctr are run",
    "mfbhrbe": "depends on what ran before",
    "copy": "needs a paste.", "paste.": "needs a copy",
    "cpabort": "belongs to copy and paste.",
}
GPR_FIELDS = set("RT RS RA RB RC".split())
PAIR_FIELDS = set("RTp RSp".split())
ONE_BIT = set("Rc OE LK AA L".split())
DISPLACEMENTS = set("D DS DQ".split())


def pick_gpr(rng, name, values, base):
    if name == "RA" and rng.random() < 0.1:
        return 0
    if name == "RA" and base and rng.random() < 0.2:
        return 1
    # Distinct, so that loads with update are valid.
    first = [] if name == "RA" else [0]
    free = [n for n in first + list(range(3, 13)) if n not in values.values()]
    return rng.choice(free)


def is_update(row):
    return row.check in ("ra", "ra_rt")


def may_be_on_stack(row):
    """Not what takes r1 to where the stack is not its own, or reads there."""
    names = {n for n, _, _ in row.word.fields}
    return "mem" in row.flags and names & DISPLACEMENTS and \
        not (is_update(row) and row.name.startswith("l"))


def pick_displacement(rng, width, values, update):
    low, high = -64, 64
    if values.get("RA") == 1:
        low, high = (-64, 0) if update else (-16, 64)
    shift = 16 - width  # DS and DQ leave low bits out
    return (rng.randrange(low, high) * 16 >> shift) & (1 << width) - 1


def pick(rng, name, width, values, row):
    prefixed = bool(row.prefix)
    if name in GPR_FIELDS:
        return pick_gpr(rng, name, values,
                        not prefixed and may_be_on_stack(row))
    if name in PAIR_FIELDS:
        return rng.choice((4, 6, 8, 10))
    if name in DISPLACEMENTS and not prefixed:
        return pick_displacement(rng, width, values, is_update(row))
    if name in ("LI", "BD"):
        return rng.choice((-4, -3, -2, 2, 3, 5)) & (1 << width) - 1
    if name == "d0" and prefixed:
        return rng.choice((0, 0, (1 << width) - 1))
    if name in ("R", "AA") and rng.random() < 0.7:
        return 0
    if name == "FXM":
        return 1 << rng.randrange(8) if rng.random() < 0.7 else 0xff
    return rng.getrandbits(width)


def fill(rng, word, values, row):
    bits = word.value
    for name, shift, width in word.fields:
        if name in ("", "/") or word.mask >> shift & 1:
            if name not in PAIR_FIELDS or width != 5:
                continue
        values[name] = values.get(name, pick(rng, name, width, values, row))
        bits |= values[name] << shift
    return bits


def encodings(rng, row):
    """A few: at least two, and each combination of one-bit fields."""
    free = [n for n, s, _ in row.word.fields
            if n in ONE_BIT and not row.word.mask >> s & 1]
    made = set()
    for variant in range(max(2, 1 << len(free))):
        for _ in range(2):
            values = {n: variant >> i & 1 for i, n in enumerate(free)}
            prefix = 0
            if row.prefix:
                prefix = fill(rng, row.prefix, values, row)
                if values.get("R"):
                    values["RA"] = 0
            word = fill(rng, row.word, values, row)
            made.add((prefix, word))
    return sorted(made)


def corpus(lines):
    rng = random.Random(310)
    out, names, left_out = [], [], []
    for row in read_rows(lines):
        why = LEFT_OUT_NAMES.get(row.name) or next(
            (text for flag, text in LEFT_OUT if flag in row.flags), None)
        if why:
            left_out.append(f'\t{{ "{row.name}", "{why}" }},')
            continue
        made = encodings(rng, row)
        rng.shuffle(made)
        out += [f"\t{{ {prefix:#010x}, {word:#010x}, {len(names)},"
                f" {int(i < 2)} }}," for i, (prefix, word) in enumerate(made)]
        names.append(f'\t"{row.name}",')
    return "\n".join(
        ["static const struct {", "\tu32 prefix; /* 0 for none */",
         "\tu32 word;", "\tu16 line;", "\tu8 first;", "} insn_corpus[] = {",
         *out, "};", "", "static const char *const insn_corpus_names[] = {",
         *names, "};", "", "static const struct {", "\tconst char *name, *why;",
         "} insn_corpus_left_out[] = {", *left_out, "};"]) + "\n"
