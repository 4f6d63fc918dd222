"""tritonc, a Triton compiler, for programs that use Triton.

    import tritonc.triton
    tritonc.triton.install()

before the first kernel is compiled, or

    python -m tritonc program.py

or TRITONC=1 in the environment, where the package was installed from its wheel.
"""
