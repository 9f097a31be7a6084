"""Write the keys of a cluster file as an installed AWS ParallelCluster knows them.

    python dump.py                  one line for each key of the package that is installed here
    python dump.py merge 3.11 FILE 3.12 FILE ...
                                    the lines of several levels as one table

The columns are: path, type, required, constraint, default, update policy. The words are those of
schema.tsv. "C" in the third column is a key that the schema leaves out of its required ones and that
the class which is built from it needs all the same.
"""

import inspect
import re
import sys
import warnings

warnings.filterwarnings("ignore")


def constraint(validators):
    terms = []
    for v in validators:
        kind = type(v).__name__
        if kind == "OneOf":
            terms.append("in:" + ",".join(str(c) for c in v.choices))
        elif kind == "Regexp":
            terms.append("re:" + v.regex.pattern)
        elif kind == "Range":
            terms.append("range:" + bounds(v.min, v.max))
        elif kind == "Length":
            low, high = (v.equal, v.equal) if v.equal is not None else (v.min, v.max)
            terms.append("len:" + bounds(low, high))
        elif kind == "And":
            terms.append(constraint(v.validators))
        elif inspect.isfunction(v):
            terms.append({"is_cidr_or_prefix_list": "cidr"}.get(v.__name__, "call:" + v.__name__))
        else:
            terms.append("unknown:" + kind)
    return " ".join(terms)


def bounds(low, high):
    return f"{'' if low is None else low}..{'' if high is None else high}"


def policy(field):
    p = field.metadata.get("update_policy")
    return p.name if p is not None else ""


def make(schema, **given):
    """Build what a schema builds of nothing: the object, and which keys it lacked."""
    lacking = []
    for _ in range(9):
        try:
            return schema.make_resource(dict(given)), lacking
        except TypeError as e:
            names = re.findall(r"'(\w+)'", str(e).partition("argument")[2])
            names = [n for n in names if n in schema.fields and n not in given]
            if not names:
                return None, lacking
            lacking += names
            given.update((n, "x") for n in names)
        except Exception:
            return None, lacking
    return None, lacking


def default(thing, name):
    """Read what an attribute is if the file does not say."""
    param = thing.get_param(name) if hasattr(thing, "get_param") else None
    value = param.default if param is not None else None
    value = getattr(value, "value", value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else ""


def walk(schema, path, thing=None, lacking=None, out=None):
    if lacking is None:
        thing, lacking = make(schema)
    for name, field in sorted(schema.fields.items(), key=lambda f: f[1].data_key):
        if field.data_key.startswith("AwsBatch"):
            continue
        required = "Y" if field.required else "C" if name in lacking else ""
        row(schema, name, field, path + field.data_key, required, thing, out)


def row(schema, name, field, key, required, thing, out):
    kind = type(field).__name__
    rest = (required, constraint(field.validators), default(thing, name) if thing is not None and not required else "", policy(field))
    if kind == "Nested":
        many = "[]" if field.many else ""
        out.append((key + many, "list" if field.many else "map", *rest))
        sub = field.schema
        if key == "SharedStorage":
            walk(sub, key + many + ".", None, None, out)
            return
        if key.startswith("SharedStorage.") or key.startswith("SharedStorage[]."):
            walk_storage(schema, sub, key + many + ".", field, out)
            return
        walk(sub, key + many + ".", None, None, out)
    elif kind == "OneOrManyCustomActionField":
        out.append((key, "map", *rest))
        for part in ("", "Sequence[]."):
            if part:
                out.append((key + ".Sequence[]", "list", "", "", "", policy(field)))
            for sub in sorted(field.schema.fields.values(), key=lambda f: f.data_key):
                need = "Y" if sub.required and part else ""
                strings = type(sub).__name__ == "List"
                out.append((f"{key}.{part}{sub.data_key}", "strings" if strings else "str", need, constraint(sub.validators), "", policy(sub)))
    elif kind == "List" and type(field.inner).__name__ in ("Dict", "Mapping"):
        out.append((key, "dicts", *rest))
    elif kind == "List":
        inner = constraint(field.inner.validators)
        out.append((key, "strings", rest[0], " ".join(t for t in (rest[1], inner) if t), rest[2], rest[3]))
    else:
        word = {"String": "str", "Integer": "int", "Boolean": "bool", "Float": "float", "Dict": "dict", "Raw": "raw"}
        out.append((key, word[kind], *rest))


STORAGE = {
    "EbsSettings": "Ebs", "EfsSettings": "Efs", "FsxLustreSettings": "FsxLustre", "FsxOpenZfsSettings": "FsxOpenZfs",
    "FsxOntapSettings": "FsxOntap", "FileCacheSettings": "FileCache",
}


def walk_storage(parent, sub, path, field, out):
    """Storage is built by its parent: it gets the settings of a storage type."""
    if field.data_key in STORAGE:
        try:
            thing = parent.make_resource({"storage_type": STORAGE[field.data_key], "mount_dir": "x", "name": "x"})
        except Exception:
            thing = None
        walk(sub, path, thing, [], out)
        return
    walk(sub, path, None, None, out)


def dump():
    from pcluster.schemas.cluster_schema import ClusterSchema

    out = []
    walk(ClusterSchema("x"), "", None, None, out)
    for line in sorted(out):
        print("\t".join(line))


def merge(pairs):
    rows = {}
    levels = [level for level, _ in pairs]
    for level, name in pairs:
        with open(name) as f:
            for line in f:
                rows.setdefault(line.rstrip("\n"), []).append(level)
    for line, have in sorted(rows.items(), key=lambda r: (r[0].split("\t")[0], levels.index(r[1][0]))):
        print(f"{have[0]}..{have[-1]}\t{line}" if have != levels else f"\t{line}")
        assert have == levels[levels.index(have[0]) : levels.index(have[-1]) + 1], have


if __name__ == "__main__":
    if sys.argv[1:2] == ["merge"]:
        merge(list(zip(sys.argv[2::2], sys.argv[3::2])))
    else:
        dump()
