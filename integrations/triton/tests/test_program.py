"""Tests of finding the program tritonc, and of what install() says of one that is none."""

import os
import sys
import unittest
from unittest import mock

import standin_triton
import test_triton
from test_triton import hook, program


class ProgramTest(test_triton.Case):
    def test_program(self):
        with self.assertRaisesRegex(hook.Unsupported, "there is no program .*nowhere; install"):
            hook.install(self.folder / "nowhere")
        with mock.patch.dict(os.environ, {"TRITONC_PROGRAM": "/nowhere"}):
            with self.assertRaisesRegex(hook.Unsupported, "TRITONC_PROGRAM names it"):
                hook.install()
        with mock.patch.dict(os.environ, {"TRITONC_PROGRAM": str(self.fake)}):
            self.assertEqual(hook.install().program.path, str(self.fake))
        hook.uninstall()
        self.fake.write_text("#!/bin/sh\necho boom >&2; exit 3\n")
        with self.assertRaisesRegex(hook.Unsupported, "is not a tritonc that can be run here .*boom"):
            self.install()
        self.fake.write_text("#!/bin/sh\necho 42\n")
        with self.assertRaisesRegex(hook.Unsupported, "is not tritonc: asked for its version, it prints '42'"):
            self.install()
        self.fake.chmod(0o600)
        with self.assertRaisesRegex(hook.Unsupported, "is not executable; install"):
            self.install()
        self.fake.chmod(0o700)
        self.fake.write_bytes(b"\x7fELF\x02\x01\x01 of another machine")
        with self.assertRaisesRegex(hook.Unsupported, "is not a tritonc that can be run here .*cannot be run"):
            self.install()

    def test_no_backend(self):
        for said, why in (("amd 0.1.0\\t/x\\n  hip:gfx942  warp size 64", f"it belongs beside it, in {self.folder}"),
                          ("nvidia\\t/x\\n  cannot be used: its folder /x may be written by others: make it safe with: chmod go-w /x", "cannot be used: its folder /x .*chmod go-w /x")):
            text = standin_triton.PROGRAM.replace("nvidia 0.1.0\\t/x\\n  cuda:80  warp size 32\\n  cuda:90  warp size 32", said)
            self.fake.write_text(text.format(python=sys.executable, version="v1.0.0"))
            with self.assertRaisesRegex(hook.Unsupported, f"has no backend for NVIDIA GPUs: {why}"):
                self.install()

    def test_no_program_at_all(self):
        with mock.patch.object(program, "PACKAGE", self.folder / "none"), mock.patch.object(program, "CHECKOUT", None), \
                mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            with self.assertRaisesRegex(hook.Unsupported, "there is no program tritonc .*install a wheel for this system"):
                hook.install()

    def test_another_version(self):
        own = self.folder / "own" / "bin"
        own.mkdir(parents=True)
        (own / "build.json").write_text('{"version": "v1.1.0"}')
        with mock.patch.object(program, "PACKAGE", own.parent):
            with self.assertRaisesRegex(hook.Unsupported, "is tritonc v1.0.0, and this package is for v1.1.0"):
                self.install()
            standin_triton.write_program(own / "tritonc", "v1.1.0")
            self.assertEqual(hook.install().program.version, "v1.1.0")
            hook.uninstall()
            (own / "tritonc").chmod(0o644)
            with self.assertRaisesRegex(hook.Unsupported, "lost its permissions"):
                hook.install()


if __name__ == "__main__":
    unittest.main()
