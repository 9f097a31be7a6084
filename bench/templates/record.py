"""What AWS ParallelCluster would deploy for cluster files: its own CloudFormation templates, one file of JSON for each.

    record.py FACTS OUT FILE...

It runs ParallelCluster's own schema and synthesis (CDK, so node has to be on the PATH) in the Python environment that has
aws-parallelcluster, with AWS answered by bench/oracle/fakeaws.py from the file FACTS. Nothing leaves the machine.

A record has the resources of all stacks together, a line for each. Parameters are filled in; what refers to a resource or
to AWS::Region is a text with ${ID}, ${ID.Attribute}, ${AWS::Region}. What is known only at run time (digests, times) is
replaced by a fixed word; user data, cfn-init's metadata and the dashboard's body by their size.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))

from oracle import offline  # noqa: E402, sets the environment before pcluster is imported

import fakeaws  # noqa: E402
from pcluster import utils  # noqa: E402
from pcluster.aws.aws_api import AWSApi  # noqa: E402
from pcluster.models.s3_bucket import S3Bucket  # noqa: E402
from pcluster.schemas.cluster_schema import ClusterSchema  # noqa: E402

CLUSTER = "recorded"
SUBNET = "subnet-0123456789abcdef0"
BULKY = {"UserData", "AWS::CloudFormation::Init", "DashboardBody"}


class Fsx(fakeaws.Fsx):
    """Synthesis asks where volumes are mounted from, which validation does not."""

    def describe_volumes(self, ids):
        machine = {"StorageVirtualMachineId": "svm-0123456789abcdef0", "JunctionPath": "/vol1"}
        return [
            {**v, "OpenZFSConfiguration": {"VolumePath": "/fsx"}, "OntapConfiguration": machine}
            for v in super().describe_volumes(ids)
        ]

    def describe_storage_virtual_machines(self, ids):
        return [{"StorageVirtualMachineId": i, "Endpoints": {"Nfs": {"DNSName": f"{i}.fsx.example.com"}}} for i in ids]


def completed(document):
    """The file with what ParallelCluster requires and muster makes itself: subnets."""
    document.setdefault("Region", "us-east-1")
    document["HeadNode"].setdefault("Networking", {}).setdefault("SubnetId", SUBNET)
    for queue in document["Scheduling"]["SlurmQueues"]:
        queue.setdefault("Networking", {}).setdefault("SubnetIds", [SUBNET])
    return document


def synthesised(config):
    """The templates that ParallelCluster's CDK application writes, by their file's name; main is the cluster's own."""
    from aws_cdk.core import App
    from pcluster.templates.cluster_stack import ClusterCdkStack

    bucket = S3Bucket(name="recorded-bucket", service_name=CLUSTER, stack_name=CLUSTER, artifact_directory=CLUSTER)
    with tempfile.TemporaryDirectory() as out:
        app = App(outdir=out)
        ClusterCdkStack(app, CLUSTER, CLUSTER, config, bucket, None)
        app.synth()
        paths = sorted(Path(out).glob("*.template.json"))
        return {p.name.removesuffix(".template.json"): json.loads(p.read_text()) for p in paths}


class Flat:
    """Templates made one: values of parameters are looked up in the stack that hands them on."""

    def __init__(self, stacks):
        self.main = stacks.pop(CLUSTER)
        self.values = {name: p.get("Default", "") for name, p in self.main["Parameters"].items()}
        self.resources = dict(self.main["Resources"])
        for resource in self.main["Resources"].values():
            if resource["Type"] == "AWS::CloudFormation::Stack":
                self.values.update(resource["Properties"].get("Parameters", {}))
        for stack in stacks.values():
            self.resources.update(stack["Resources"])

    def reference(self, name, attribute=""):
        if name in self.values:
            return self.value(self.values[name])
        return self.value("${" + name + attribute + "}")

    def value(self, v):
        if isinstance(v, list):
            return [self.value(i) for i in v]
        if isinstance(v, str):
            return re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", re.sub(r"20\d{10,12}\b", "TIME", v))
        if not isinstance(v, dict):
            return v
        if set(v) == {"Ref"}:
            return self.reference(v["Ref"])
        if set(v) == {"Fn::GetAtt"}:
            return self.reference(v["Fn::GetAtt"][0], "." + v["Fn::GetAtt"][1])
        if set(v) == {"Fn::Join"}:
            separator, parts = v["Fn::Join"]
            return separator.join(str(self.value(p)) for p in parts)
        if len(v) == 1 and next(iter(v)) in ("Fn::Select", "Fn::Split"):
            return json.dumps(self.value(list(v.values())[0]))
        return {self.value(k): f"<{len(json.dumps(i))} characters>" if k in BULKY else self.value(i) for k, i in v.items()}

    def resource(self, r):
        if r["Type"] == "AWS::CloudFormation::Stack":
            return {"Type": r["Type"]}
        r = self.value({k: i for k, i in r.items() if k != "DependsOn"})
        r.get("Metadata", {}).pop("aws:cdk:path", None)
        return r

    def lines(self):
        named = {self.value(name): self.resource(r) for name, r in self.resources.items()}
        rows = [f" {json.dumps(name)}: {json.dumps(named[name], sort_keys=True)}" for name in sorted(named)]
        return "{\n" + ",\n".join(rows) + "\n}\n"


def main():
    facts, out, files = fakeaws.Facts(json.loads(Path(sys.argv[1]).read_text())), Path(sys.argv[2]), sys.argv[3:]
    offline()
    for file in map(Path, files):
        document = completed(utils.yaml_load(file.read_text()))
        os.environ["AWS_DEFAULT_REGION"] = document["Region"]
        aws = fakeaws.FakeAws(facts, document)
        aws.fsx = Fsx()
        AWSApi.instance = staticmethod(lambda aws=aws: aws)
        config = ClusterSchema(cluster_name=CLUSTER).load(document)
        flat = Flat(synthesised(config))
        (out / (file.stem + ".json")).write_text(flat.lines())
        print(file.name, len(flat.resources), "resources")


if __name__ == "__main__":
    main()
