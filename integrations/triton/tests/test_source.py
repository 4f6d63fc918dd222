"""Tests of source mode: what a kernel's file says in the place of Triton's ttir."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import test_triton
import tritonc.triton as hook
from tritonc import source

# Without the decorators, which need Triton: tritonc sees another text, with them.
KERNELS = '''import triton
import triton.language as tl

SCALE = tl.constexpr(2)

@triton.jit
def scaled(x, o, n, s, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i * s, mask=i < n) * SCALE, mask=i < n)

def outer(k):
    @triton.jit
    def inner(x):
        tl.store(x, k)
    return inner

class C:
    @triton.jit
    def method(x):
        tl.store(x, 1)
'''

TYPES = {"x": "*fp32", "o": "*fp32", "n": "i32", "s": "constexpr", "B": "constexpr"}
SIGNATURE = "x=*fp32:16, o=*fp32:16, n=i32, s=1, B=64"
ALIGNED = {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]}


class Case(test_triton.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "kernels.py"
        self.path.write_text(KERNELS)

    def function(self, name="scaled"):
        """The kernel of that name, as Triton holds it."""
        from triton.compiler.compiler import JITFunction
        triton = types.ModuleType("triton")
        triton.jit = JITFunction
        triton.language = types.ModuleType("triton.language")
        triton.language.constexpr = lambda v: v
        spec = importlib.util.spec_from_file_location("kernels", self.path)
        module = importlib.util.module_from_spec(spec)
        with mock.patch.dict(sys.modules, {"triton": triton, "triton.language": triton.language}):
            spec.loader.exec_module(module)
        return module.outer(3) if name == "inner" else module.C.method if name == "method" else getattr(module, name)

    def made(self, fn=None, types_=TYPES, constants=None, attrs=None):
        from triton.compiler.compiler import ASTSource
        return ASTSource(fn or self.function(), types_, {"s": 1, "B": 64} if constants is None else constants, ALIGNED if attrs is None else attrs)


class SourceTest(Case):
    def test_of(self):
        self.assertEqual(source.of(self.made()), source.Source(str(self.path), "scaled", SIGNATURE))
        *flags, name, path = source.of(self.made()).flags()
        self.assertEqual((flags, name), (["-n", "scaled", "-s", SIGNATURE], "--python-path"))
        self.assertEqual(path.split(os.pathsep), source.installed())

    def test_installed(self):
        """What Python searches is searched, in its order, but not what belongs to Python."""
        lib, site = self.folder / "lib", self.folder / "site"
        lib.mkdir()
        site.mkdir()
        own = os.path.dirname(os.__file__)
        with mock.patch.object(sys, "path", ["", str(lib), own, os.path.join(own, "lib-dynload"), str(self.folder / "none.zip"), str(site)]):
            self.assertEqual(source.installed(), [os.getcwd(), str(lib), str(site)])

    def test_literals(self):
        dtype = type("dtype", (), {"__module__": "triton.language.core"})
        half, fp8 = dtype(), dtype()
        half.name, fp8.name = "fp16", "fp8e5"
        constexpr = type("constexpr", (), {})()
        constexpr.value = True
        for value, want in ((1, "1"), (-0.5, "-0.5"), ("ieee", "'ieee'"), (None, "None"), (constexpr, "True"), ((1, (half, )), "(1, (tl.float16, ), )"), (fp8, "tl.float8e5")):
            self.assertEqual(source.literal(value), want)

    def test_what_a_file_does_not_say(self):
        def why(made):
            with self.assertRaises(source.NotSource) as e:
                source.of(made)
            return str(e.exception)

        self.assertEqual(why(None), "it is no Python function")
        self.assertEqual(why(self.made(self.function("inner"), constants={})), "it is not at the top of its file")
        self.assertEqual(why(self.made(self.function("method"), constants={})), "it is not at the top of its file")
        self.assertEqual(why(self.made(constants={"s": 1, "B": object()})), "a constant is object")
        self.assertEqual(why(self.made(attrs={(2,): [["tt.pointer_range", 32]]})), "n has the attribute tt.pointer_range = 32")
        self.assertEqual(why(self.made(types_={**TYPES, "x": "tensordesc<fp32[64]>"})), "the type of x is tensordesc<fp32[64]>")
        self.assertEqual(why(self.made(types_={**TYPES, "x": ("i32", "i32")})), "the type of x is ('i32', 'i32')")
        made = self.made()
        made.constants[(0, 1)] = 1
        self.assertEqual(why(made), "a tuple among its arguments has a constant")
        made = self.made()
        del made.fn.raw_src
        self.assertIn("this Triton holds kernels in another way: 'JITFunction' object has no attribute 'raw_src'", why(made))
        made = self.made()
        made.fn.src = made.fn.src.replace("SCALE", "3")
        self.assertEqual(why(made), "its file says something else than what was loaded")
        made = self.made()
        self.path.write_text(KERNELS.replace("* SCALE", "+ SCALE"))
        self.assertEqual(why(made), "its file says something else than what was loaded")
        self.path.unlink()
        self.assertEqual(why(made), "its file cannot be read: No such file or directory")

    def test_a_compiler_of_another(self):
        with self.assertRaisesRegex(hook.Unsupported, "from_source is for tritonc itself"):
            self.install(from_source=True, compiler=object())

    def test_uninstall(self):
        from triton.compiler.compiler import ASTSource
        theirs = ASTSource.make_ir
        self.install(from_source=True)
        self.assertIsNot(ASTSource.make_ir, theirs)
        hook.uninstall()
        self.assertIs(ASTSource.make_ir, theirs)

    def test_by_environment(self):
        self.assertIsNone(self.install().watch)
        hook.uninstall()
        os.environ["TRITONC_FROM_SOURCE"] = "1"
        self.addCleanup(os.environ.pop, "TRITONC_FROM_SOURCE")
        self.assertIsNotNone(self.install().watch)


@unittest.skipUnless(os.path.exists(test_triton.TRITONC), "there is no bin/tritonc: make build")
class RealTest(Case):
    """With tritonc itself, whose ttir stands for Triton's."""

    def install(self, **more):
        return hook.install(test_triton.TRITONC, assemble=False, from_source=True, **more)

    def ttir(self, signature=SIGNATURE, *flags):
        return subprocess.run([test_triton.TRITONC, "-t", "cuda:90", "-n", "scaled", "-s", signature, *flags, "--emit", "ttir", "-o", "-", str(self.path)],
                              capture_output=True, text=True, check=True).stdout

    def test_versions(self):
        """Both compilers' ttir agrees: the file is compiled, and the PTX has its lines."""
        for version in test_triton.VERSIONS:
            self.use(version)
            self.install()
            asm, metadata = self.compile(self.ttir(), source=self.made())
            self.assertEqual((metadata["compiler"], metadata["name"]), ("tritonc", "scaled"))
            self.assertIn("kernels.py", asm["ptx"])
            r = hook.report()
            self.assertEqual((r["from_source"], r["not_source"], r["configurations"]), (1, {}, 1), version)
            self.assertIn("\n1 configurations from their Python files\n", str(r))

    def test_a_constant_before_a_type(self):
        """As Triton makes one of an argument that is 1."""
        signature = "x=*fp32:16, o=*fp32:16, n=1, s=i32, B=64"
        self.install()
        self.compile(self.ttir(signature), source=self.made(types_={**TYPES, "n": "constexpr", "s": "i32"}, constants={"n": 1, "B": 64}))
        r = hook.report()
        self.assertEqual((r["from_source"], r["not_source"]), (1, {}))

    def test_served(self):
        os.environ["TRITONC_SOCKET"] = ""
        with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": "", "XDG_CACHE_HOME": "", "HOME": ""}):
            self.install()
            self.compile(self.ttir(), source=self.made())
            self.assertEqual((hook.report()["served"], hook.report()["from_source"]), (1, 1))
            hook.uninstall()

    def test_imports(self):
        """A module that the file imports is the one that this Python finds, by the server and by processes."""
        first, second = self.folder / "first", self.folder / "second"
        for folder, scale in ((first, 2), (second, 3)):
            folder.mkdir()
            (folder / "scales.py").write_text(f"import triton.language as tl\nSCALE = tl.constexpr({scale})\n")
        self.path.write_text(KERNELS.replace("SCALE = tl.constexpr(2)", "from scales import SCALE"))
        text = self.ttir(SIGNATURE, "--python-path", str(first))
        for server in (False, True):
            with mock.patch.object(sys, "path", [str(first), *sys.path]), mock.patch.dict(sys.modules), \
                    mock.patch.dict(os.environ, {"PYTHONPATH": str(second), "TRITONC_SOCKET": "", "XDG_RUNTIME_DIR": "", "XDG_CACHE_HOME": "", "HOME": ""}):
                from triton.backends.nvidia import compiler
                compiler.cache.clear()
                self.install(server=server)
                asm, _ = self.compile(text, source=self.made())
                r = hook.report()
                self.assertEqual((r["from_source"], r["not_source"], r["served"]), (1, {}, int(server)))
                self.assertIn("dense<2.000000e+00>", asm["ttgir"])
                hook.uninstall()
            sys.modules.pop("scales", None)

    def test_another_ttir(self):
        """What Triton was given is not what the file says: Triton's ttir is compiled."""
        self.install()
        asm, _ = self.compile(self.ttir("*fp32:16, *fp32:16, i32, s=1, B=128"), source=self.made())
        self.assertIn("end = 128", asm["ttgir"])
        self.compile(self.ttir())  # not a Python function
        self.compile(self.ttir("*fp32:16, *fp32:16, i32:16, s=1, B=64"), first="ttir", source=self.made(types_={**TYPES, "n": "u1"}))
        r = hook.report()
        self.assertEqual((r["from_source"], r["configurations"]), (0, 3))
        self.assertEqual(r["not_source"]["tritonc's front end makes another ttir"], 2)
        self.assertEqual(r["not_source"]["it is no Python function"], 1)
        self.assertIn("0 configurations from their Python files; 1 from Triton's ttir: it is no Python function; 2 from Triton's ttir: ", str(r))

    def test_a_file_that_tritonc_refuses(self):
        text = self.ttir()
        self.path.write_text(KERNELS.replace("SCALE = tl.constexpr(2)", "import os\nSCALE = tl.constexpr(len(os.sep) + 1)"))
        self.install()
        self.compile(text, source=self.made())
        (why, n), = hook.report()["not_source"].items()
        self.assertEqual(n, 1)
        self.assertIn("error: ", why)

    def test_overridden(self):
        """A ttir file that overrides Triton's is what is compiled."""
        self.install()
        asm, _ = self.compile(self.ttir(), source=self.made(), override={"ttir": self.ttir("*fp32:16, *fp32:16, i32, s=1, B=128")})
        self.assertIn("end = 128", asm["ttgir"])
        self.assertEqual(hook.report()["from_source"], 0)


if __name__ == "__main__":
    unittest.main()
