"""Writes what NumPy says of cases.txt to numpy.txt: python3 reference.py"""

import os
import warnings

import numpy as np

warnings.simplefilter("ignore")
here = os.path.dirname(os.path.abspath(__file__))


def numbers(*shape):
    n = int(np.prod(shape))
    return (((np.arange(n) * 37 + 11) % 101 - 50) / 8.0).reshape(shape)


def integers(*shape):
    n = int(np.prod(shape))
    return ((np.arange(n) * 29 + 5) % 47 - 20).reshape(shape)


scope = dict(vars(np))
scope.update(
    np=np, abs=np.abs, sum=np.sum, any=np.any, all=np.all, len=len, bool=bool,
    a=numbers(5, 7), b=numbers(7), c=numbers(3, 1, 7), d=numbers(2, 7, 3),
    i=integers(5, 7), j=integers(7) + 21, m=integers(5, 7) % 3 == 0,
    e=np.zeros((0, 7)), w=np.array([1, 2**64 - 1, 2**63 + 1025, 12], dtype=np.uint64),
    s=np.array(2.5), n=5)
scope.update(argsort=lambda x, axis=-1: np.argsort(x, axis, kind="stable"))



def along(f, x, axis):
    return np.apply_along_axis(f, axis, x)


# What NumPy lacks, one row at a time, in long doubles.
scope.update(
    cummax=lambda x, axis=0: np.maximum.accumulate(x, axis),
    cummin=lambda x, axis=0: np.minimum.accumulate(x, axis),
    cumsum=lambda x, axis=0, reverse=False: np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis),
    softmax=lambda x, axis=-1: along(lambda r: np.exp(np.longdouble(r) - max(r)) / np.exp(np.longdouble(r) - max(r)).sum(), x, axis),
    log_softmax=lambda x, axis=-1: along(lambda r: np.longdouble(r) - max(r) - np.log(np.exp(np.longdouble(r) - max(r)).sum()), x, axis),
    logsumexp=lambda x, axis=-1: along(lambda r: max(r) + np.log(np.exp(np.longdouble(r) - max(r)).sum()), x, axis),
    sigmoid=lambda x: np.float64(1 / (1 + np.exp(-np.longdouble(x)))),
    fma=lambda x, y, z: np.float64(np.longdouble(x) * np.longdouble(y) + np.longdouble(z)))

with open(os.path.join(here, "cases.txt")) as cases, open(os.path.join(here, "numpy.txt"), "w") as out:
    out.write("# NumPy %s says of cases.txt; see reference.py.\n" % np.__version__)
    for line in cases:
        text = line.rstrip("\n")
        if not text or text.startswith("#"):
            continue
        v = np.asarray(eval(text, scope))
        kind = {"b": "bool", "i": "int", "u": "uint", "f": "float"}[v.dtype.kind]
        if v.dtype.kind == "u" and v.dtype.itemsize < 8:
            kind = "int"
        flat = v.reshape(-1)
        if kind == "float":
            elems = [repr(float(x)) for x in flat]
        else:
            elems = [str(int(x)) for x in flat]
        out.write("%s\t%s%s\t%s\n" % (text, kind, list(v.shape), " ".join(elems)))
