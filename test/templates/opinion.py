# Shows templates to ministack's CloudFormation, in this process: the files of each cluster (its name, its part, json)
# are made one after the other, the outputs of the earlier being the parameters of the later, and then removed.
# Prints what it does not know and what it says against them.
import asyncio, json, logging, os, pathlib, sys, types
from urllib.parse import urlencode
from xml.etree import ElementTree

os.environ["MINISTACK_REGION"] = "us-east-2"
logging.disable(logging.CRITICAL)
# ministack's server and a careful XML parser are not installed: nothing here comes from strangers.
sys.modules["defusedxml"] = types.SimpleNamespace(ElementTree=ElementTree)
sys.modules["defusedxml.ElementTree"] = ElementTree
sys.modules["ministack.app"] = types.SimpleNamespace(AUTH=True)  # so that it asks for capabilities

from ministack.services import cloudformation as cfn, ec2, s3
from ministack.services.cloudformation.provisioners import _RESOURCE_HANDLERS as kinds


class Attributes(dict):
    """What a resource of an unknown type answers: something for every attribute."""
    __contains__ = lambda self, name: True
    __getitem__ = lambda self, name: name
    __deepcopy__ = lambda self, memo: self


async def ask(action, **members):
    """Calls CloudFormation; the answer is what it says against the call."""
    form = urlencode({"Action": action, **members}).encode()
    status, _, body = await cfn.handle_request("POST", "/", {"content-type": "application/x-www-form-urlencoded"}, form, {})
    return "" if status == 200 else ElementTree.fromstring(body).findtext(".//{*}Message")


async def ended(name, deed):
    """Waits for the end of CREATE or DELETE, and says what failed."""
    stack = cfn._stacks[name]
    while stack["StackStatus"] not in (f"{deed}_COMPLETE", f"{deed}_FAILED"):
        await asyncio.sleep(0)
    failed = [e for e in cfn._stack_events[stack["StackId"]] if e["ResourceStatus"] == f"{deed}_FAILED"]
    return stack, [f"{e['LogicalResourceId']}: {e['ResourceStatusReason']}" for e in failed][:1]


async def make(name, template, given, leave="CAPABILITY_NAMED_IAM"):
    """Makes a stack; the answers are its outputs, and what is said against it."""
    s3._get_object_data = lambda bucket, key: json.dumps(template, separators=(",", ":")).encode() if key == "template.json" else None
    at = {"TemplateURL": "https://s3.us-east-2.amazonaws.com/bucket/template.json"}
    if said := await ask("ValidateTemplate", **at):
        return {}, [said]
    members = {"Capabilities.member.1": leave} if leave else {}
    for i, key in enumerate(given.keys() & template.get("Parameters", {}).keys(), 1):
        members |= {f"Parameters.member.{i}.ParameterKey": key, f"Parameters.member.{i}.ParameterValue": given[key]}
    if said := await ask("CreateStack", StackName=name, OnFailure="DO_NOTHING", **at, **members):
        return {}, [said]
    stack, said = await ended(name, "CREATE")
    return {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]}, said


async def remove(name):
    if said := await ask("DeleteStack", StackName=name):
        return [said]
    return (await ended(name, "DELETE"))[1]


async def live(cluster, parts):
    """Makes the stacks of a cluster and removes them."""
    outputs, made = {}, []
    for part in "base", "storage", "cluster":
        if part in parts:
            made.insert(0, f"{cluster}-{part}")
            more, said = await make(made[0], parts[part], outputs)
            outputs |= more
            for line in said:
                print(f"{cluster}\t{part}\t{line}")
    for name in made:
        for line in await remove(name):
            print(f"{cluster}\tremoval\t{line}")


def damages(base):
    """Templates with one fault each."""
    def fault(**parts):
        return {key: {**base.get(key, {}), **more} for key, more in parts.items()}
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {}}
    return {
        "no such resource": fault(Outputs={"X": {"Value": {"Ref": "Nobody"}}}),
        "no such attribute": fault(Outputs={"X": {"Value": {"Fn::GetAtt": ["Bucket", "Nothing"]}}}),
        "no such property": fault(Resources={"X": {**bucket, "Properties": {"Nothing": "x"}}}),
        "no such file system": fault(Resources={"X": {"Type": "AWS::EFS::MountTarget", "Properties": {"FileSystemId": "fs-1", "SubnetId": "subnet-1", "SecurityGroups": []}}}),
        "a circle": fault(Resources={"X": {**bucket, "DependsOn": "Y"}, "Y": {**bucket, "DependsOn": "X"}}),
        "a parameter without a value": fault(Parameters={"X": {"Type": "String"}}),
        "a role that nobody acknowledged": fault(Resources={"X": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}}}}),
    }


def network():
    """The network that some cluster files name."""
    ec2._vpcs["vpc-00000000000000001"] = {"VpcId": "vpc-00000000000000001", "CidrBlock": "10.1.0.0/16"}
    for i, zone in enumerate("aab", 1):
        ec2._subnets[f"subnet-{i:017}"] = {"SubnetId": f"subnet-{i:017}", "VpcId": "vpc-00000000000000001",
            "AvailabilityZone": "us-east-2" + zone, "AvailabilityZoneId": "use2-az1", "CidrBlock": f"10.1.{i}.0/24"}


async def main(paths):
    clusters = {}
    for path in map(pathlib.Path, paths):
        cluster, part, _ = path.name.split(".")
        clusters.setdefault(cluster, {})[part] = json.loads(path.read_text())
    network()
    every = {r["Type"] for parts in clusters.values() for t in parts.values() for r in t["Resources"].values()}
    for kind in sorted(every - kinds.keys()):
        print(f"unknown\t{kind}")
        kinds[kind] = {"create": lambda name, *rest: (name, Attributes()), "delete": lambda *rest: None}
    for cluster, parts in clusters.items():
        await live(cluster, parts)
    base = clusters["least"]["base"]
    for i, (fault, parts) in enumerate(damages(base).items()):
        _, said = await make(f"damaged-{i}", {**base, **parts}, {}, leave="" if "role" in fault else "CAPABILITY_NAMED_IAM")
        print(f"damaged\t{fault}\t{''.join(said) or 'taken'}")


asyncio.run(main(sys.argv[1:]))
