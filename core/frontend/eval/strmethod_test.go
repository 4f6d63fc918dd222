package eval

import "testing"

// TestMethods: what CPython 3.11 says of the same expressions.
func TestMethods(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{`"aB c".capitalize(), "éa b'c d1e".title(), "aBÉ".swapcase()`, `('Ab c', "Éa B'C D1E", 'Abé')`},
		{`[c.isalnum() for c in "a1_é "], "".isalnum(), "12".isdigit(), "1.2".isdecimal()`, `([True, True, False, True, False], False, True, False)`},
		{`"a_1".isidentifier(), "1a".isidentifier(), "ab".isalpha(), "a b".isalpha()`, `(True, False, True, False)`},
		{`" \t".isspace(), "aé".isascii(), "".isascii(), "A1".isupper(), "1".islower(), "Ab Cd".istitle(), "a\n".isprintable()`, `(True, False, True, True, False, True, False)`},
		{`"ab".ljust(5, "."), "ab".rjust(4), "ab".center(5), "ab".center(6, "-"), "abc".center(6), "-7".zfill(4), "abc".zfill(2)`, `('ab...', '  ab', '  ab ', '--ab--', ' abc  ', '-007', 'abc')`},
		{`"a\tbc\td".expandtabs(4), "a\tb".expandtabs(tabsize=0)`, `('a   bc  d', 'ab')`},
		{`"aXbXc".replace("X", "--"), "aXbXc".replace("X", "", 1), "ab".replace("", "-")`, `('a--b--c', 'abXc', '-a-b-')`},
		{`"a,b,,c".split(","), "a,b,c".split(",", 1), "a,b,c".rsplit(",", 1), "a,b,c".split(sep=",", maxsplit=1), "a,b".split(",", 0)`, `(['a', 'b', '', 'c'], ['a', 'b,c'], ['a,b', 'c'], ['a', 'b,c'], ['a,b'])`},
		{`" a  b  c ".split(), " a  b  c ".split(None, 1), " a  b  c ".rsplit(None, 1), " a b ".split(maxsplit=0), "".split(), "".split(",")`, `(['a', 'b', 'c'], ['a', 'b  c '], [' a  b', 'c'], ['a b '], [], [''])`},
		{`"a\nb\r\nc".splitlines(), "a\n".splitlines(True), "".splitlines(), "a\n\nb\n".splitlines()`, `(['a', 'b', 'c'], ['a\n'], [], ['a', '', 'b'])`},
		{`"k=v=w".partition("="), "k=v=w".rpartition("="), "k".partition("="), "k".rpartition("=")`, `(('k', '=', 'v=w'), ('k=v', '=', 'w'), ('k', '', ''), ('', '', 'k'))`},
		{`"abcabc".find("c"), "abcabc".rfind("b"), "abc".find("z"), "éab".find("b"), "abcabc".find("a", 1), "abc".find("a", 1, 2), "abc".index("c", -1), "abcabc".rindex("c", 0, 5), "abc".find("", 3), "abc".find("")`, `(2, 4, -1, 2, 3, -1, 2, 2, 3, 0)`},
		{`"banana".count("a"), "banana".count("a", 2), "banana".count("an", 0, 3), "abc".count("")`, `(3, 2, 1, 4)`},
		{`"abc".startswith("b", 1), "abc".endswith(("x", "c")), "abc".startswith("c", 1, 2), "abc".endswith("b", 0, 2), "abc".startswith(())`, `(True, True, False, True, False)`},
		{`"xxaxx".strip("x"), "abcba".lstrip("ab"), " a ".rstrip(), " a ".strip(None), "aé\u00a0".strip()`, `('a', 'cba', ' a', 'a', 'aé')`},
		{`"".join(c if c.isalnum() else "_" for c in "a-b.c").strip("_"), "-".join(["a", "b"]), "-".join(())`, `('a_b_c', 'a-b', '')`},
		{`"prefix_a".removeprefix("prefix_"), "a.py".removesuffix(".py"), "STRAE".casefold()`, `('a', 'a', 'strae')`},
		{`(5).bit_count(), (-7).bit_count(), (255).bit_length()`, `(2, 3, 8)`},
		{`[sorted(s) for s in [{1, 2}.intersection([2, 3]), {1, 2}.difference([2]), {1, 2}.symmetric_difference([2, 3]), {1}.union([2], [3])]]`, `[[2], [1], [1, 3], [1, 2, 3]]`},
		{`{1}.issubset([1, 2]), {1, 2}.issuperset([1]), {1}.isdisjoint([2]), {1, 2}.isdisjoint([2]), {3}.copy(), {3}.pop()`, `(True, True, True, False, {3}, 3)`},
		{`{"a": 1, "b": 2}.popitem(), {"a": 1}.clear(), {}.setdefault("a", 2)`, `(('b', 2), None, 2)`},
		{`[[1, 2, 1], [l.remove(1) for l in [[1, 2, 1]]]]`, `[[1, 2, 1], [None]]`},
		{`"abc".index("z")`, `error: test.py:1:5: error: substring not found`},
		{`"-".join(["a", 1])`, `error: test.py:1:5: error: sequence item 1: expected str instance, int found`},
		{`"a".split("")`, `error: test.py:1:5: error: empty separator`},
		{`"a".startswith(1)`, `error: test.py:1:5: error: first arg must be str or a tuple of str, not int`},
		{`set().pop()`, `error: test.py:1:5: error: 'pop from an empty set'`},
		{`{}.popitem()`, `error: test.py:1:5: error: 'popitem(): dictionary is empty'`},
		{`{1}.remove(2)`, `error: test.py:1:5: error: 2`},
	} {
		if got := lookup(t, "x = "+c.expr, "x"); got != c.want {
			t.Errorf("%s = %s\nwant %s", c.expr, got, c.want)
		}
	}
}
