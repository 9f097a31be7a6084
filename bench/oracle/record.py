"""Writes verdicts down, small: record.py INDEX VERDICTS [OTHER]

INDEX names the cases in the order of their files, VERDICTS are lines of oracle.py. Each case becomes a line: its name and
what ParallelCluster said. Of what validators said to a changed file, only what is more and less than for its base is
written. With OTHER, the record of another release, only cases are written whose schema has another verdict there.
"""

import json
import sys
from collections import Counter


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def short(verdict):
    """The verdict in few words: "type Image.Os" and "ERROR EfaValidator SlurmQueues[0]"."""
    record = {}
    if "crash" in verdict:
        record["crash"] = verdict["crash"]
    if "schema" in verdict:
        record["schema"] = [f"{kind} {path}".strip() for path, kind in verdict["schema"]]
    if "results" in verdict:
        record["results"] = [" ".join(r).strip() for r in verdict["results"]]
    return record


def schema_part(record):
    """Whether and why the schema refuses. A crash that is not about AWS happens while the schema makes objects."""
    crash = record.get("crash")
    return record.get("schema"), None if crash == "AWSClientError" else crash


def against(base, record):
    """The record with its results as the difference to those of its base."""
    results, basis = Counter(record.pop("results", [])), Counter(base.get("results", []))
    if "schema" in record or "crash" in record:
        return record
    for key, counted in ("more", results - basis), ("less", basis - results):
        if counted:
            record[key] = sorted(counted.elements())
    return record


def main():
    index, verdicts, *other = sys.argv[1:]
    with open(index, encoding="utf-8") as file:
        names = file.read().splitlines()
    records = {names[int(v["file"].removesuffix(".yaml"))]: short(v) for v in lines(verdicts)}
    there = {line["case"]: line for path in other for line in lines(path)}
    bases = {name.removesuffix(": the base"): r for name, r in records.items() if name.endswith(": the base")}
    for name, record in records.items():
        if other and name in there and schema_part(there[name]) == schema_part(record):
            continue
        base = name.split(":")[0]
        if record is not bases[base] and not other:
            record = against(bases[base], dict(record))
        print(json.dumps({"case": name, **record}, separators=(",", ":"), ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
