"""Print CPython's tree of Python files the way Dump prints ours.

Standard input is one file name a line. For each file the output is a line
"F name", then either a line "E message" or one line "S tree" for every
statement of the module, then a line ".".

What is adjusted, and why:
  * type comments and type_ignores are left out; ours has none;
  * an empty Constant inside a JoinedStr is dropped: CPython 3.12.0 to 3.12.x
    leaves some in format specs, later ones none;
  * the docstring-like warnings about escapes go unheard.
With --hex a line of standard input is not a file's name but a source, in hex.
With --cases FILE it reads the cases of FILE instead, each a line "### name" and
the source below it, and prints the line and the trees: the golden of
TestConstructs, remade by
    python3.12 testdata/dump_ast.py --cases testdata/constructs.txt > testdata/constructs.golden
With --no-fstring-positions the positions inside a JoinedStr are printed as *,
for CPython before 3.12, which counts them from the start of the field.
"""

import ast
import struct
import sys
import warnings

BLUR = "--no-fstring-positions" in sys.argv[1:]
SKIP = {"type_comment", "kind", "type_ignores"}
OPTIONAL = object()


def quoted(data):
    out = []
    for c in data:
        if c < 32 or c > 126 or c in (34, 92):
            out.append("\\x%02x" % c)
        else:
            out.append(chr(c))
    return '"' + "".join(out) + '"'


def string(s):
    return quoted(s.encode("utf-8", "surrogatepass"))


def constant(v):
    if v is None or v is True or v is False:
        return str(v)
    if v is Ellipsis:
        return "Ellipsis"
    if isinstance(v, int):
        return "%x" % v
    if isinstance(v, float):
        return "f" + struct.pack(">d", v).hex()
    if isinstance(v, complex):
        return "j" + struct.pack(">d", v.imag).hex()
    if isinstance(v, str):
        return string(v)
    return "b" + quoted(v)


def value(v, blur):
    if v is None:
        return "-"
    if isinstance(v, list):
        return "[" + ",".join([value(x, blur) for x in v]) + "]"
    if isinstance(v, ast.AST):
        return node(v, blur)
    if isinstance(v, str):
        return string(v)
    return str(int(v))


def node(n, blur=False):
    kind = type(n).__name__
    if not n._fields:
        if not n._attributes:
            return kind  # an operator or context
    pos = ""
    if n._attributes:
        pos = "@*" if blur else "@%d:%d-%d:%d" % (n.lineno, n.col_offset, n.end_lineno, n.end_col_offset)
    if kind == "Constant":
        return kind + pos + "(" + constant(n.value) + (",u" if n.kind else "") + ")"
    if kind == "MatchSingleton":
        return kind + pos + "(" + constant(n.value) + ")"
    if kind == "JoinedStr":
        n.values = [x for x in n.values if not (isinstance(x, ast.Constant) and x.value == "")]
        blur = blur or BLUR
    fields = [value(getattr(n, f, None), blur) for f in n._fields if f not in SKIP]
    if sys.version_info < (3, 12) and kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
        fields.append("[]")  # no type parameters yet
    if kind == "TypeVar" or kind == "ParamSpec" or kind == "TypeVarTuple":
        fields = fields[: 2 if kind == "TypeVar" else 1]  # no defaults, which 3.13 has
    return kind + pos + "(" + ",".join(fields) + ")"


def cases(path):
    with open(path, encoding="utf-8") as f:
        parts = ("\n" + f.read()).split("\n### ")[1:]
    for part in parts:
        name, _, source = part.partition("\n")
        print("### " + name)
        for s in ast.parse(source + "\n").body:
            print(node(s))


def main():
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20000)
    if "--cases" in sys.argv[1:]:
        return cases(sys.argv[sys.argv.index("--cases") + 1])
    out = sys.stdout
    for name in sys.stdin:
        name = name.rstrip("\n")
        out.write("F " + name + "\n")
        try:
            if "--hex" in sys.argv[1:]:
                source = bytes.fromhex(name)
            else:
                with open(name, "rb") as f:
                    source = f.read()
            tree = ast.parse(source)
            for s in tree.body:
                out.write("S " + node(s) + "\n")
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as e:
            out.write("E " + repr(e).encode("ascii", "backslashreplace").decode() + "\n")
        out.write(".\n")


if __name__ == "__main__":
    main()
