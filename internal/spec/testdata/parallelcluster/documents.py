"""Write which YAML documents AWS ParallelCluster can read, and what it makes of them.

Run by the Python of an installed aws-parallelcluster. The columns are: the document (as JSON), and what it is (as
JSON), "-" for a document that cannot be read.
"""

import io
import json
import warnings

warnings.filterwarnings("ignore")

from pcluster.utils import yaml_load

DOCUMENTS = [
    "Region: a\nRegion: b\n", "Tags: [{Key: a, Key: b}]\n", "Region: a\n'Region': b\n", "Region: a\n\"Region\": b\n",
    "HeadNode: {Ssh: {KeyName: a, KeyName: a}}\n", "Region: &r a\nCustomS3Bucket: *r\n", "Region: *r\n",
    "Tags: &t [{Key: a, Value: b}]\nHeadNode: {Iam: *t}\n", "Image: &i {Os: a}\nHeadNode: {<<: *i}\n",
    "Image: &i {Os: a}\nHeadNode:\n  <<: [*i]\n", "Tags: &t [*t]\n", "&a Region: b\n*a : c\n", "&a Region: b\nImage: {*a : c}\n",
    "Region: !!str a\n", "Region: !a b\n", "Image: !!map {Os: a}\n", "Image: !a {Os: a}\n", "Tags: !!seq [a]\n", "Tags: !a [a]\n",
    "Image: !!set {a, b}\n", "Tags: !!omap [a: 1]\n", "Image: ! {Os: a}\n",
    "---\nRegion: a\n", "---\nRegion: a\n...\n", "Region: a\n---\nRegion: b\n", "%YAML 1.1\n---\nRegion: a\n",
    "%YAML 1.2\n---\nRegion: a\n", "%YAML 2.0\n---\nRegion: a\n", "%TAG ! tag:x,2000:\n---\nRegion: a\n", "--- {Region: a}\n", "Region: a\n...\n# end\n",
    "Region: \ta\n", "Region: a\t\n", "Region: a \t# c\n", "Image:\n\tOs: a\n", "Image:\n  Os: a\n\n\t\n", "Region: 'a\tb'\n", "Region\t: a\n", "Tags: [a,\tb]\n", "Tags:\n- \ta\n",
    "Region: a: b\n", "Region: a #c\n", "Region: a#c\n", "Region: 'a\n", "Region: \"a\\qb\"\n", "Region: \"a\\x41\"\n", "Region: \"\\u00e9\"\n",
    "Region: [a\n", "Tags: [a, b,]\n", "Tags: [a,, b]\n", "Tags: [, a]\n", "Image: {Os: a,}\n", "Image: {Os}\n", "Image: {Os: , CustomAmi: b}\n", "Image: {Os:a}\n", "Image: {\"Os\":a}\n",
    "Image: {? Os : a}\n", "? Region\n: a\n", "? Region\n", "? [a]\n: b\n", "? {a: b}\n: c\n", "Image:\n Os: a\n  CustomAmi: b\n", "Image:\n  Os: a\n CustomAmi: b\n",
    "Tags:\n- Key: a\n  Value: b\n- Key: c\n", "Tags:\n  - Key: a\n    Value: b\n", "Tags:\n- - a\n  - b\n", "Tags:\n-\n  Key: a\n", "Tags: - a\n", "- a\n", "a\n", "Region: a\nb\n", "Region:\n  a\n  b\n",
    "Region: |\n  a\n   b\n", "Region: |2\n    a\n", "Region: >-\n  a\n  b\n\n  c\n", "Region: |+\n  a\n\n", "Region: | # c\n  a\n", "Region: |x\n  a\n",
    "1: a\n", "true: a\n", "~: a\n", "2020-01-01: a\n", "1.5: a\n", "yes: a\n", "y: a\n", "'1': a\n", "=: a\n", "Image: {1: a, true: b}\n",
    "Region: @a\n", "Region: `a`\n", "Region: %a\n", "Region: !\n", "Region: &a\n", "Region: & a\n", "Region: a & b\n", "Region: *\n", "Region: a, b\n", "Region: a] b\n", "Region: {a} b\n", "Region: '' b\n",
    "Region: a\r\nImage: b\r\n", "Region: a\rImage: b\r", "Region: a\u2028Image: b\n", "Region: a\u0085Image: b\n", "\ufeffRegion: a\n", "Region: \u00e9\n", "Region: \U0001f600\n", "Region: a\u00a0\n", "Region: \x7f\n", "Region: a\x00\n", "Region: \x1b\n", "Region: \ufffe\n", "Region: \ufeffa\n",
    "", "\n", "# c\n", "---\n", "null\n", "~\n", "{}\n", "[]\n", "'a'\n", "12\n", "a: 1\n b: 2\n", "key with blanks: a\n", "key: a\n? b\n: c\n", "a:\n- b\nc: d\n", "a: b:c\n", "a: -\n", "a: - b\n", "a: ?\n", "-a: b\n", "a: [b: c]\n", "a: [b: c, d]\n", "{a: b}: c\n", "[a]: c\n", "a: {b: {c: [d, {e: f}]}}\n", "a: \"b\n  c\"\n", "a: 'b\n\n  c'\n", "a: b\n  c: d\n", "a: |\n b\nc\n", "a: 0x\n", "a : b\n", "a:b\n", "a:\n\n\n  b: c\n", "  a: b\n  c: d\n", "  a: b\nc: d\n", "a: b # c: d\n", "a: 'b' # c\n", "a: 'b'c\n", "a: \"b\"#c\n", "a: [b]#c\n", "#\n#\na: b", "a: b\n#", "a:\n  - b\n - c\n", "a:\n - b\n  - c\n",
    "a: &x 1\nb: &x 2\n", "a: &x {b: 1}\nc: &x {d: 2}\ne: *x\n", "a: &x 1\nb: *x\nc: *x\n", "a: &x\nb: *x\n", "a: !!str &x b\n", "a: &x !!str b\n", "a: &x &y b\n", "a: *x b\n", "a: &x b\nc: *x d\n", "a: &x-y_1 b\nc: *x-y_1\n", "a: &x.y b\n", "a: &x, b\n",
    "k" * 1100 + ": a\n", "k" * 900 + ": a\n", "? " + "k" * 1100 + "\n: a\n", "\"a\n b\": c\n", "a\n b: c\n", "{a\n b: c}\n", "{\"a\n b\": c}\n",
    "a: \"\\/\"\n", "a: \"\\e\"\n", "a: \"\\N\"\n", "a: \"\\x4\"\n", "a: \"\\u12\"\n", "a: \"\\U0001f600\"\n", "a: \"\\ud800\"\n", "a: \"\\0\"\n", "a: \"\\ \"\n", "a: \"\\\tb\"\n", "a: 'b' 'c'\n",
    "a: [b, # c\n  d]\n", "a: {b: c, # d\n  e: f}\n", "a: {\n  b: c\n}\n", "a: [\nb\n]\n", "a: {\nb: c\n}\n", "a:\n{b: c}\n", "a: [b\n]\nc: d\n", "a: [b]\n  c: d\n", "a: {b: c} d\n", "[a: b, c]\n", "{a, b}\n", "{a: b, a: c}\n", "[{a: b}, {a: c}]\n", "{? a, ? b}\n", "[? a : b]\n", "{a: , b}\n", "{: a}\n", "[a]b\n", "{}a\n", "a: []]\n", "a: }\n", "a: ]\n", "a: b}\n", "a: b]\n", "a: [b}\n", "a: ,b\n", "a: b,c\n", "[a,b]\n", "[a ,b]\n", "{a: b,c: d}\n", "{a: b:c}\n", "{a: b: c}\n", "{a:: b}\n", "{a:b: c}\n", "{http://a: b}\n", "{a: http://b}\n", "[http://a, b]\n", "a: [-b, - c]\n", "a: [- b]\n", "a: {- b: c}\n", "[-, a]\n", "a: [?b]\n", "a: [a?b]\n", "a: [?]\n", "{a?: b}\n",
    "a: |-\n  b\n\n\nc: d\n", "a: |\n\n  b\n", "a: |\n    b\n  c\n", "a: |\n  b\n c: d\n", "a: |\n", "a: |\nb: c\n", "a: >\n\n\n", "a: |1\n b\n", "a: |0\n b\n", "a: |-2\n  b\n", "a: |2-\n  b\n", "a: |+-\n  b\n", "a: | b\n", "a: |#c\n  b\n", "- |\n a\n- b\n", "a:\n  - |\n    b\n  - c\n", "a: |\n  \tb\n", "a: |\n\tb\n", "a: >\n  b\n   c\n  d\n", "a: |\n  # b\n# c\nd: e\n", "|\n a\n", "a: |\n  b\n...\n", "a: |\n---\n",
    "a: b\n\n\n\n", "a: b   \n", "\n\na: b\n", " a: b\n", "a: b\n c\n", "a: b\n  c\n d\n", "a: b\n# c\n d\n", "a: 'b\n# c'\n", "a: b\n\n c\n", "a:\n b\n c: d\n", "a:\n- b\n- c\n", "a:\n- b\n c\n", "a:\n- b: c\n  d: e\n- f\n", "a:\n- b: c\n d: e\n", "-\n- a\n", "- - - a\n", "- a: b\n  - c\n", "a: - b\n   - c\n", "a\n", "a b c\n", "a:\n", ":\n", ": a\n", "?\n", "? a\n? b\n", "? a: b\n: c\n", "? |\n a\n: b\n", "? - a\n: b\n", "a: b\n---\n", "a: b\n--- \n", "a: b\n---c\n", "a: b\n...\nc: d\n", "...\n", "...\na: b\n", "--- a\n", "--- a: b\n", "---\n--- a\n", "--- # c\na: b\n", "---a: b\n", "a: ---\n", "a: ...\n", "a:\n---\nb\n", "%a b\n---\nc: d\n", "%YAML 1.1\na: b\n", "%YAML\n---\na: b\n", "%YAML 1.1\n%YAML 1.1\n---\na: b\n", "%YAML 1.10\n---\na: b\n", "# %YAML 3.0\na: b\n", "a: b\n%YAML 1.1\n---\n",
    "a: !\nb: c\n", "a: !!\n", "a: !!str\nb: c\n", "a: !x!y b\n", "a: !<> b\n", "a: !<x b\n", "a: !a,b c\n", "a: !!str [b]\n", "a: !!seq b\n", "a: !!map [b]\n", "a: !!int [b]\n", "!!map {a: b}\n", "!!str a: b\n", "? !!str a\n: b\n", "!!int 1: b\n", "a: !!null\n", "a: !!bool\n", "a: !!int\n", "a: !!float\n", "a: !!binary\n", "a: !!timestamp x\n",
]


def plain(value, seen=()):
    if id(value) in seen:
        return "cycle"
    if isinstance(value, dict):
        return {str(k): plain(v, seen + (id(value),)) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(v, seen + (id(value),)) for v in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def main():
    print("# Which YAML documents AWS ParallelCluster 3.16.1 (PyYAML) can read, by documents.py of this folder.")
    for text in DOCUMENTS:
        try:
            got = json.dumps(plain(yaml_load(io.StringIO(text))))
        except Exception:
            got = "-"
        print(json.dumps(text), got, sep="\t")


main()
