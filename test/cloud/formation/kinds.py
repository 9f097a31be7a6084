"""Writes kinds.json: what CloudFormation says of the types of resources that the double makes.

The source is the schemas of resource providers that AWS publishes
(https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html),
as cfn-lint carries them. Usage: bin/py/bin/python test/cloud/formation/kinds.py > test/cloud/formation/kinds.json
"""

import json
import os
from importlib.metadata import version

import cfnlint

TYPES = """
AWS::AutoScaling::AutoScalingGroup AWS::CloudFormation::Stack AWS::CloudWatch::Alarm AWS::CloudWatch::CompositeAlarm AWS::CloudWatch::Dashboard
AWS::EC2::EIP AWS::EC2::EIPAssociation AWS::EC2::Instance AWS::EC2::InternetGateway AWS::EC2::LaunchTemplate
AWS::EC2::NatGateway AWS::EC2::NetworkInterface AWS::EC2::PlacementGroup AWS::EC2::Route AWS::EC2::RouteTable
AWS::EC2::SecurityGroup AWS::EC2::SecurityGroupEgress AWS::EC2::SecurityGroupIngress AWS::EC2::Subnet
AWS::EC2::SubnetRouteTableAssociation AWS::EC2::Volume AWS::EC2::VolumeAttachment AWS::EC2::VPC
AWS::EC2::VPCEndpoint AWS::EC2::VPCGatewayAttachment
AWS::EFS::FileSystem AWS::EFS::MountTarget
AWS::ElasticLoadBalancingV2::Listener AWS::ElasticLoadBalancingV2::LoadBalancer AWS::ElasticLoadBalancingV2::TargetGroup
AWS::FSx::DataRepositoryAssociation AWS::FSx::FileSystem
AWS::IAM::InstanceProfile AWS::IAM::Role
AWS::Logs::LogGroup
AWS::Route53::HostedZone
AWS::S3::Bucket AWS::S3::BucketPolicy
""".split()


def names(paths):
    return sorted(p.removeprefix("/properties/") for p in paths or [])


def schemas():
    root = os.path.join(os.path.dirname(cfnlint.__file__), "data", "schemas")
    with open(os.path.join(root, "providers", "us-east-1.json")) as f:
        index = json.load(f)
    for type_ in TYPES:
        with open(os.path.join(root, "resources", index[type_] + ".json")) as f:
            yield type_, json.load(f)


def main():
    rows = {}
    for type_, s in schemas():
        row = {
            "properties": sorted(s["properties"]),
            "required": sorted(s.get("required", [])),
            "createOnly": names(s.get("createOnlyProperties")),
            "maybeCreateOnly": names(s.get("conditionalCreateOnlyProperties")),
            "attributes": [n.replace("/", ".") for n in names(s.get("readOnlyProperties"))],
        }
        rows[type_] = {k: v for k, v in row.items() if v}
    source = "CloudFormation's schemas of us-east-1 in cfn-lint " + version("cfn-lint")
    print(json.dumps({"source": source, "types": rows}, indent=1, sort_keys=True))


main()
