"""What AWS ParallelCluster says to cluster files: one line of JSON for each file of a folder.

    oracle.py [--schema] [--messages] [--repeat N] FACTS FILE_OR_FOLDER...

It runs ParallelCluster's own YAML loader, schema and validators, in the Python environment that has aws-parallelcluster,
with AWS answered by fakeaws.py from the file FACTS. Nothing leaves the machine.

    {"file": "a.yaml", "accepted": false,
     "schema": [["Scheduling.SlurmQueues[0].Nam", "unknown"]],    errors of the schema, by place and kind
     "results": [["ERROR", "EfaValidator", "SlurmQueues[0]"]],    what validators said
     "crash": "TypeError"}                                        ParallelCluster itself broke, and so refuses

--schema stops after the schema, for levels whose validators ask other questions. --messages adds ParallelCluster's
words. --repeat loads and validates a file N times over, for measuring.
"""

import argparse
import asyncio
import json
import logging
import os
import re
import sys
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_EC2_METADATA_DISABLED="true")

from marshmallow import ValidationError  # noqa: E402
from pcluster import utils  # noqa: E402
from pcluster.aws.aws_api import AWSApi  # noqa: E402
from pcluster.aws.iam import IamClient  # noqa: E402
from pcluster.config.common import Resource  # noqa: E402
from pcluster.schemas.cluster_schema import ClusterSchema  # noqa: E402
from pcluster.schemas.common_schema import validate_json_format  # noqa: E402
from pcluster.validators import s3_validators  # noqa: E402
from pcluster.validators.common import FailureLevel, ValidatorContext  # noqa: E402

from fakeaws import FakeAws, Facts, needs  # noqa: E402

CLUSTER_NAME = "oracle"

# The kinds of schema errors, by the words that marshmallow and ParallelCluster use for them.
KINDS = [
    ("unknown", r"^Unknown field|no longer supported for Login Nodes"),
    ("required", r"^Missing data for required field"),
    ("null", r"may not be null"),
    ("type", r"^Not a valid|^Invalid input type|^Invalid type"),
    ("value", r"^Must be one of"),
    ("range", r"^Must be (greater|less)|must be (greater|an integer)|minimum size"),
    ("length", r"^Longer than|^Shorter than|^Length must|^Only one subnet"),
    ("pattern", r"does not match expected|neither a valid CIDR"),
]

# Attributes of ParallelCluster's objects that are named otherwise than the keys of the file.
KEYS = {
    "queues": "SlurmQueues",
    "settings": "SlurmSettings",
    "efa": "Efa",
    "pools": "Pools",
}


def kind_of(message):
    for kind, pattern in KINDS:
        if re.search(pattern, message):
            return kind
    return "rule"


def schema_errors(tree, path=""):
    """The leaves of marshmallow's error tree, as (path, message)."""
    if isinstance(tree, dict):
        for key, below in tree.items():
            if key == "_schema":
                yield from schema_errors(below, path)
            elif isinstance(key, int):
                yield from schema_errors(below, f"{path}[{key}]")
            else:
                yield from schema_errors(below, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, list):
        for below in tree:
            yield from schema_errors(below, path)
    else:
        yield path, str(tree)


def places(resource, path="", found=None):
    """Where each of the configuration's objects comes from in the file."""
    found = {} if found is None else found
    found[id(resource)] = path
    for name, value in vars(resource).items():
        key = KEYS.get(name, "".join(word.capitalize() for word in name.split("_")))
        below = f"{path}.{key}" if path else key
        if isinstance(value, Resource):
            places(value, below, found)
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, Resource):
                    places(item, f"{below}[{i}]", found)
    return found


@contextmanager
def known_places(config):
    """Marks what validators say with the place of the object that they looked at."""
    found = places(config)
    original = Resource._validate_self

    def marked(self, *args):
        before = len(self._validation_failures)
        original(self, *args)
        for failure in self._validation_failures[before:]:
            failure.place = found.get(id(self), "")

    Resource._validate_self = marked
    try:
        yield
    finally:
        Resource._validate_self = original


class Oracle:
    def __init__(self, facts, schema_only=False):
        self.facts = Facts(facts)
        self.schema_only = schema_only
        offline()

    def judge(self, text):
        """The verdict on a file's text, and ParallelCluster's words for it."""
        forget_urls()
        try:
            return self._judge(text)
        except Exception as problem:  # ParallelCluster shows any exception as a refusal
            return {"accepted": False, "crash": type(problem).__name__}, [str(problem)]

    def _judge(self, text):
        try:
            document = utils.yaml_load(text)
        except Exception as problem:
            return {"accepted": False, "schema": [["", "yaml"]]}, [str(problem)]
        if not isinstance(document, dict):
            return {"accepted": False, "schema": [["", "yaml"]]}, ["not a mapping"]
        region = document.get("Region")
        os.environ["AWS_DEFAULT_REGION"] = region if isinstance(region, str) and region else "us-east-1"
        aws = FakeAws(self.facts, document)
        AWSApi.instance = staticmethod(lambda: aws)
        types = needs(document, "DevSettings", "InstanceTypesData")
        if types and validate_json_format(types):
            aws.ec2.additional_instance_types_data = json.loads(types)
        try:
            config = ClusterSchema(cluster_name=CLUSTER_NAME).load(document)
        except ValidationError as problem:
            errors = sorted(schema_errors(problem.messages))
            return {"accepted": False, "schema": [[p, kind_of(m)] for p, m in errors]}, [m for _, m in errors]
        if self.schema_only:
            return {"accepted": True}, []
        return self._validate(config)

    @staticmethod
    def _validate(config):
        with known_places(config):
            failures = config.validate([], ValidatorContext())
        results = sorted(
            (str(f.level), f.validator_type.removeprefix("AsyncTimed"), getattr(f, "place", ""), f.message)
            for f in failures
        )
        verdict = {"accepted": all(f.level != FailureLevel.ERROR for f in failures)}
        if results:
            verdict["results"] = [list(r[:3]) for r in results]
        return verdict, [r[3] for r in results]


def offline():
    """Answers what ParallelCluster asks past its AWSApi."""
    logging.disable(logging.CRITICAL)
    asyncio.set_event_loop(asyncio.new_event_loop())
    regions = files("pcluster") / "resources" / "supported-regions"
    if regions.is_file():
        utils.retrieve_supported_regions.cache = regions.read_text().split("\n")
    IamClient.__init__ = lambda self: None
    IamClient.get_policy = lambda self, policy: {"Policy": {}}
    s3_validators.urlopen = urlopen


def forget_urls():
    """URLs of another file are new: ParallelCluster says what is wrong with one only once in ten seconds."""
    for cell in getattr(s3_validators.UrlValidator._validate_async, "__closure__", None) or ():
        if isinstance(cell.cell_contents, dict):
            cell.cell_contents.clear()


@contextmanager
def urlopen(url):
    """Finds whatever is asked for, if it names a host."""
    if not urlsplit(url).netloc:
        raise URLError("no host given")
    yield None


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--schema", action="store_true")
    parser.add_argument("--messages", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("facts", type=Path)
    parser.add_argument("paths", type=Path, nargs="+")
    args = parser.parse_args()
    oracle = Oracle(json.loads(args.facts.read_text()), args.schema)
    for path in args.paths:
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
            text = file.read_text()
            for _ in range(args.repeat):
                verdict, messages = oracle.judge(text)
            if args.messages and messages:
                verdict["messages"] = messages
            print(json.dumps({"file": file.name, **verdict}, separators=(",", ":")))


if __name__ == "__main__":
    sys.exit(main())
