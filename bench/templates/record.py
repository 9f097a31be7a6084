"""What AWS ParallelCluster would deploy for cluster files: its own CloudFormation templates, one file of JSON for each.

    record.py TYPES OUT NAME=FILE...

It runs ParallelCluster's own schema and synthesis (CDK, so node has to be on the PATH) in the Python environment that has
aws-parallelcluster, with AWS answered by bench/oracle/fakeaws.py. Instance types are those of the file TYPES: what EC2 said
to moto's authors. Nothing leaves the machine.

A record has the resources of all stacks together, a line for each. Parameters are filled in; what refers to a resource or
to AWS::Region is a text with ${ID}, ${ID.Attribute}, ${AWS::Region}. What is known only at run time (digests, times) is
replaced by a fixed word; user data, cfn-init's metadata and the dashboard's body by their size.
"""

import gzip
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
from pcluster.aws.aws_resources import InstanceTypeInfo  # noqa: E402
from pcluster.models.s3_bucket import S3Bucket  # noqa: E402
from pcluster.schemas.cluster_schema import ClusterSchema  # noqa: E402

CLUSTER, NESTED = "recorded", "AWS::CloudFormation::Stack"
PUBLIC, PRIVATE = "subnet-0123456789abcdef0", "subnet-0123456789abcdef1"
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


# What the tests of internal/aws/stack say of things that their files name.
OVERRIDES = {"EbsOptimized": True, "PrivateDnsNameOptions": {"HostnameType": "ip-name"}}
ZONES = {"subnet-00000000000000003": "b"}
RESERVATIONS = {
    "cr-00000000000000001": {"InstanceType": "p4d.24xlarge"},
    "cr-00000000000000002": {"InstanceType": "p5en.48xlarge"},
    "cr-00000000000000003": {
        "InstanceType": "p5.48xlarge",
        "PlacementGroupArn": "arn:aws:ec2:us-east-2:123456789012:placement-group/reserved",
    },
}


class Ec2(fakeaws.Ec2):
    def __init__(self, types, document):
        super().__init__(fakeaws.Facts({}), document)
        self.types = types

    def list_instance_types(self):
        return list(self.types)

    def get_instance_type_info(self, instance_type):
        return InstanceTypeInfo(self.types[instance_type])

    def get_subnet_avail_zone(self, subnet_id):
        return fakeaws.region() + ZONES.get(subnet_id, "a")

    def get_subnets_az_mapping(self, subnet_ids):
        return {s: self.get_subnet_avail_zone(s) for s in subnet_ids}

    def is_subnet_public(self, subnet_id):
        return subnet_id in (PUBLIC, "subnet-00000000000000001")

    def describe_launch_template_version(self, _template_id, _version):
        return OVERRIDES

    def _reservation(self, name):
        return {**super()._reservation(name), **RESERVATIONS.get(name, {})}


def completed(document):
    """The file with what ParallelCluster requires and muster makes itself: subnets."""
    document["HeadNode"].setdefault("Networking", {}).setdefault("SubnetId", PUBLIC)
    for pool in document.get("LoginNodes", {}).get("Pools", []):
        pool.setdefault("Networking", {}).setdefault("SubnetIds", [PUBLIC])
    for queue in document["Scheduling"]["SlurmQueues"]:
        queue.setdefault("Networking", {}).setdefault("SubnetIds", [PRIVATE])
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
    """Templates made one: values of parameters are looked up in the stack that hands them on. Resources of nested stacks
    have the name of their stack before their own: two stacks may use the same."""

    def __init__(self, stacks):
        main = stacks.pop(CLUSTER)
        self.values, self.prefix, self.resources = {}, "", {}
        self.values = {name: p.get("Default", "") for name, p in main["Parameters"].items()}
        self.add(main)
        handed = [r["Properties"].get("Parameters", {}) for r in main["Resources"].values() if r["Type"] == NESTED]
        self.values.update((name, self.value(v)) for parameters in handed for name, v in parameters.items())
        for name, stack in sorted(stacks.items()):
            self.prefix = ("login" if "LoginNodes" in name else "queues") + "/"
            self.add(stack)

    def add(self, stack):
        for name, r in stack["Resources"].items():
            self.resources[self.prefix + self.value(name)] = self.resource(r)

    def reference(self, name, attribute=""):
        if name in self.values:
            return self.values[name]
        prefix = "" if name.startswith("AWS::") else self.prefix
        return self.value("${" + prefix + name + attribute + "}")

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
        if r["Type"] == NESTED:
            return {"Type": NESTED}
        r = self.value({k: i for k, i in r.items() if k != "DependsOn"})
        r.get("Metadata", {}).pop("aws:cdk:path", None)
        return r

    def lines(self):
        rows = [f" {json.dumps(name)}: {json.dumps(r, sort_keys=True)}" for name, r in sorted(self.resources.items())]
        return "{\n" + ",\n".join(rows) + "\n}\n"


def main():
    with gzip.open(sys.argv[1]) as file:
        types = json.load(file)
    offline()
    for argument in sys.argv[3:]:
        name, _, file = argument.partition("=")
        document = completed(utils.yaml_load(Path(file).read_text()))
        os.environ["AWS_DEFAULT_REGION"] = document["Region"]
        aws = fakeaws.FakeAws(None, document)
        aws.ec2, aws.fsx = Ec2(types, document), Fsx()
        AWSApi.instance = staticmethod(lambda aws=aws: aws)
        config = ClusterSchema(cluster_name=CLUSTER).load(document)
        flat = Flat(synthesised(config))
        (Path(sys.argv[2]) / (name + ".json")).write_text(flat.lines())
        print(name, len(flat.resources), "resources")


if __name__ == "__main__":
    main()
