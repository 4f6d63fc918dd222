"""What stage_times.py does without Triton: jobs as it takes them, times, the table."""

import contextlib
import io
import types
import unittest

import ir_jobs
import stage_times


class StageTimes(unittest.TestCase):
    def test_stages_of(self):
        lines = "\n".join([
            '{"kind":"timing","stage":"backend start","milliseconds":300}',
            '{"kind":"timing","stage":"parse","milliseconds":0.25}',
            '{"kind":"timing","stage":"front end","milliseconds":0.5}',
            '{"kind":"timing","stage":"ttir","step":"cse","milliseconds":7}',
            '{"kind":"timing","stage":"ttir","milliseconds":2}',
            '{"kind":"timing","milliseconds":400}',
            '{"kind":"artifact","stage":"hsaco","name":"k.hsaco"}',
        ])
        self.assertEqual(stage_times.stages_of(lines), {"front end": 0.75, "ttir": 2})
        self.assertEqual(stage_times.medians([{"a": 1, "b": 9}, {"a": 3, "b": 8}, {"a": 2, "b": 7}]), {"a": 2, "b": 8})

    def test_triton_source(self):
        tl = types.SimpleNamespace(float32="f32")
        for name, job in ir_jobs.jobs().items():  # every constant can be read
            fn = types.SimpleNamespace(arg_names=list(job.params))
            stage_times.triton_source(job, fn, types.SimpleNamespace(float16=1, float32=2, float64=3, int32=4, bfloat16=5))
        job = ir_jobs.Job("n", "f.py", "k", {"x": "*fp32:16", "n": "i32", "s": "=1", "OUT": "=tl.float32"}, {})
        got = stage_times.triton_source(job, types.SimpleNamespace(arg_names=["x", "n", "s", "OUT"]), tl)
        self.assertEqual(got, ({"x": "*fp32", "n": "i32", "s": "constexpr", "OUT": "constexpr"}, {(2,): 1, (3,): "f32"},
                               {(0,): [["tt.divisibility", 16]]}))
        self.assertEqual([stage_times.option(v) for v in ("8", "-1", "True", "ieee")], [8, -1, True, "ieee"])

    def test_report(self):
        def times(*ms):
            return dict(zip(("front end", "ttir", "ttgir", "llir", "amdgcn", "hsaco"), ms))

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            stage_times.report([{"name": "a", "tritonc": times(1, 1, 1, 1, 50, 9), "triton": times(4, 4, 4, 4, 60, 9)},
                                {"name": "b", "tritonc": times(1, 1, 1, 1, 50, 9), "triton": times(1, 1, 1, 1, 60, 9)}],
                               [("c", "triton", "no")])
        self.assertIn("a                                4.00     1.00", said.getvalue())
        self.assertIn("a                               16.00     4.00", said.getvalue())
        self.assertIn("up to llir tritonc takes 0.500 of Triton's time (2 kernels, geometric mean), at most 1.000 (b)", said.getvalue())
        self.assertIn("c: triton: no", said.getvalue())


if __name__ == "__main__":
    unittest.main()
