"""AWS as ParallelCluster's validators see it: every question is answered "fine".

Instance types come from a facts file, which is written from muster's own catalog, so that both know the same
machines. Whatever a file names (subnets, keys, images, reservations, file systems) exists and fits. Subnets are in one
zone, but for those whose ids end in b to f. A question that is not foreseen here raises, which shows in the verdict.
"""

import os

from pcluster.aws.aws_resources import (
    CapacityReservationInfo,
    FsxStorageInfo,
    ImageInfo,
    InstanceTypeInfo,
)
from pcluster.aws.common import AWSClientError
from pcluster.utils import get_installed_version

VPC = "vpc-0123456789abcdef0"
IMAGE_GB = 45
RESERVED_TYPE = "p5.48xlarge"


def region():
    return os.environ["AWS_DEFAULT_REGION"]


def zone(subnet_id):
    last = subnet_id[-1]
    return region() + (last if last in "bcdef" else "a")


class Facts:
    """What is known of instance types, in the words of EC2's DescribeInstanceTypes."""

    def __init__(self, instance_types):
        self.types = instance_types

    def describe(self, name):
        fact = self.types[name]
        threads = fact["threads_per_core"]
        data = {
            "InstanceType": name,
            "VCpuInfo": {
                "DefaultVCpus": fact["vcpus"],
                "DefaultCores": fact["vcpus"] // threads,
                "DefaultThreadsPerCore": threads,
            },
            "MemoryInfo": {"SizeInMiB": fact["memory_mib"]},
            "ProcessorInfo": {"SupportedArchitectures": [fact["arch"]]},
            "InstanceStorageSupported": fact["nvme"],
            "EbsInfo": {"EbsOptimizedSupport": "default"},
            "SupportedUsageClasses": list(fact["usage_classes"]),
            "PlacementGroupInfo": {"SupportedStrategies": fact["placement_strategies"]},
            "NetworkInfo": {
                "EfaSupported": fact["efa"] > 0,
                "EfaInfo": {"MaximumEfaInterfaces": fact["efa"]} if fact["efa"] else {},
                "NetworkCards": [
                    {"NetworkCardIndex": i, "MaximumNetworkInterfaces": fact["interfaces_per_card"]}
                    for i in range(fact["cards"])
                ],
            },
        }
        if fact["gpus"]:
            data["GpuInfo"] = {"Gpus": [{"Manufacturer": fact["gpu_maker"], "Count": fact["gpus"]}]}
        if fact["accelerators"]:
            maker = {"Manufacturer": fact["accelerator_maker"], "Count": fact["accelerators"]}
            data["InferenceAcceleratorInfo"] = {"Accelerators": [maker]}
        return data


def needs(document, *path):
    """The value at a path of a document whose shape nobody has checked yet."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def entries(value):
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


class Ec2:
    def __init__(self, facts, document):
        self.facts = facts
        self.os = needs(document, "Image", "Os")
        self.head_type = needs(document, "HeadNode", "InstanceType")
        self.reservations = self._reservations(document)
        self.additional_instance_types_data = {}

    @staticmethod
    def _reservations(document):
        """Each reservation is right for the first compute resource that names it."""
        found = {}
        for queue in entries(needs(document, "Scheduling", "SlurmQueues")):
            for resource in entries(queue.get("ComputeResources")):
                target = resource.get("CapacityReservationTarget") or queue.get("CapacityReservationTarget")
                name = needs(target, "CapacityReservationId") or needs(target, "CapacityReservationResourceGroupArn")
                subnets = needs(queue, "Networking", "SubnetIds")
                if isinstance(name, str) and isinstance(subnets, list) and subnets:
                    kind = resource.get("InstanceType") or RESERVED_TYPE
                    found.setdefault(name, (kind, subnets[0], queue.get("CapacityType")))
        return found

    def list_instance_types(self):
        return list(self.facts.types) + list(self.additional_instance_types_data)

    def get_instance_type_info(self, instance_type):
        if instance_type in self.additional_instance_types_data:
            return InstanceTypeInfo(self.additional_instance_types_data[instance_type])
        if instance_type not in self.facts.types:
            raise AWSClientError("describe_instance_types", f"{instance_type}: no such type", "InvalidInstanceType")
        return InstanceTypeInfo(self.facts.describe(instance_type))

    def get_supported_architectures(self, instance_type):
        return self.get_instance_type_info(instance_type).supported_architecture()

    def describe_subnets(self, subnet_ids):
        return [
            {"SubnetId": s, "VpcId": VPC, "AvailabilityZone": zone(s), "CidrBlock": "10.0.0.0/16"} for s in subnet_ids
        ]

    def get_subnet_avail_zone(self, subnet_id):
        return zone(subnet_id)

    def get_subnets_az_mapping(self, subnet_ids):
        return {s: zone(s) for s in subnet_ids}

    def get_subnet_vpc(self, _subnet_id):
        return VPC

    def get_subnet_cidr(self, _subnet_id):
        return "10.0.0.0/16"

    def is_subnet_public(self, _subnet_id):
        return False

    def is_enable_dns_support(self, _vpc_id):
        return True

    def is_enable_dns_hostnames(self, _vpc_id):
        return True

    def describe_security_group(self, group_id):
        rule = {
            "IpProtocol": "-1",
            "IpRanges": [{"CidrIp": "0.0.0.0/0"}],
            "UserIdGroupPairs": [{"GroupId": group_id}],
        }
        return {"GroupId": group_id, "VpcId": VPC, "IpPermissions": [rule], "IpPermissionsEgress": [rule]}

    def describe_security_groups(self, group_ids):
        return [self.describe_security_group(g) for g in group_ids]

    def describe_network_interfaces(self, ids):
        return [{"NetworkInterfaceId": i, "VpcId": VPC, "Groups": [{"GroupId": "sg-01234567"}]} for i in ids]

    def get_eip_allocation_id(self, _eip):
        return "eipalloc-0123456789abcdef0"

    def describe_image(self, ami_id):
        architecture = self.get_instance_type_info(self.head_type).supported_architecture()[0]
        tags = {
            "parallelcluster:version": get_installed_version(),
            "parallelcluster:build_status": "available",
            "parallelcluster:os": self.os,
        }
        return ImageInfo(
            {
                "ImageId": ami_id,
                "Architecture": architecture,
                "Description": "" if ami_id != "ami-official" else "AWS ParallelCluster AMI",
                "Tags": [{"Key": k, "Value": v} for k, v in tags.items()],
                "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": IMAGE_GB}}],
            }
        )

    def get_official_image_id(self, _os, _architecture, _filters=None):
        return "ami-official"

    def describe_key_pair(self, _name):
        return {"KeyPairs": [{"KeyType": "ed25519"}]}

    def describe_placement_group(self, name):
        return {"PlacementGroups": [{"GroupName": name, "State": "available"}]}

    def describe_capacity_reservations(self, ids):
        return [CapacityReservationInfo(self._reservation(i)) for i in ids]

    def _reservation(self, name):
        kind, subnet, capacity_type = self.reservations.get(name, (RESERVED_TYPE, "0", None))
        block = {"ReservationType": "capacity-block"} if capacity_type == "CAPACITY_BLOCK" else {}
        red_hat = isinstance(self.os, str) and self.os.startswith("rhel")
        return {
            "CapacityReservationId": name,
            "CapacityReservationArn": f"arn:aws:ec2:{region()}:123456789012:capacity-reservation/{name}",
            "InstanceType": kind,
            "AvailabilityZone": zone(subnet),
            "InstancePlatform": "Red Hat Enterprise Linux" if red_hat else "Linux/UNIX",
            "TotalInstanceCount": 100000,
            "AvailableInstanceCount": 100000,
            "State": "active",
            "Tags": [{"Key": "aws:ec2capacityreservation:incrementalRequestedQuantity", "Value": "100000"}],
            **block,
        }

    def get_instance_type_and_reservation_type_from_capacity_reservation(self, name):
        if not name:
            return None, None
        found = self.describe_capacity_reservations([name])[0]
        return found.instance_type(), found.reservation_type()

    def describe_capacity_block_status(self, capacity_block_ids=None):
        return [
            {"CapacityBlockId": i, "InterconnectStatus": "ok", "TotalCapacity": 18, "TotalUnavailableCapacity": 0}
            for i in capacity_block_ids or []
        ]

    def get_supported_az_for_instance_type(self, _instance_type):
        return [region() + letter for letter in "abcdef"]

    def run_instances(self, **_kwargs):
        return None

    def describe_volume(self, volume_id):
        return {"VolumeId": volume_id, "State": "available", "AvailabilityZone": zone("0"), "Attachments": []}

    def get_ebs_snapshot_info(self, _snapshot_id):
        return {"VolumeSize": 1, "State": "completed"}

    def describe_launch_template_version(self, _template_id, _version):
        return {"NetworkInterfaces": []}


class Efs:
    def get_efs_mount_target_id(self, _file_system, _zone):
        return "fsmt-0123456789abcdef0"

    def get_efs_mount_target_security_groups(self, _target):
        return ["sg-01234567"]

    def is_efs_standard(self, _file_system):
        return True


class Fsx:
    def get_file_systems_info(self, ids):
        return [self._info("FileSystemId", "FileSystemType", i) for i in ids]

    def describe_file_caches(self, ids):
        return [self._info("FileCacheId", "FileCacheType", i) for i in ids]

    @staticmethod
    def _info(id_key, type_key, name):
        return FsxStorageInfo(
            {
                id_key: name,
                type_key: "LUSTRE",
                "VpcId": VPC,
                "NetworkInterfaceIds": ["eni-0123456789abcdef0"],
                "SubnetIds": ["subnet-" + c * 8 for c in "abcdef"],
                "LustreConfiguration": {"MountName": "fsx"},
            }
        )

    def describe_volumes(self, ids):
        return [{"VolumeId": i, "FileSystemId": i.replace("fsvol-", "fs-")} for i in ids]

    def describe_backup(self, backup_id):
        return {"BackupId": backup_id}


class Iam:
    def get_role(self, _name):
        return {"Role": {}}

    def get_instance_profile(self, _name):
        return {"InstanceProfile": {"Roles": []}}


class Kms:
    def describe_key(self, kms_key_id):
        return {"KeyMetadata": {"KeyId": kms_key_id}}


class ResourceGroups:
    def get_capacity_reservation_ids_from_group_resources(self, group):
        return [group]

    def get_group_configuration(self, group):
        return {"Group": group, "GroupConfiguration": {"Configuration": [{"Type": "AWS::EC2::CapacityReservationPool"}]}}


class Route53:
    def is_hosted_zone_private(self, _zone):
        return True

    def get_hosted_zone_vpcs(self, _zone):
        return [VPC]

    def get_hosted_zone_domain_name(self, _zone):
        return "example.com"


class S3:
    def head_object(self, **_kwargs):
        return {}

    def head_bucket(self, **_kwargs):
        return {}

    def get_bucket_versioning_status(self, _bucket):
        return "Enabled"

    def get_bucket_region(self, _bucket):
        return region()


class SecretsManager:
    def describe_secret(self, _arn):
        return {}

    def get_secret_value(self, _arn):
        return {"SecretString": "QUJD" * 32}


class Ssm:
    def get_parameter(self, _name):
        return {}


class FakeAws:
    """Stands where ParallelCluster has its AWSApi, for one file."""

    def __init__(self, facts, document):
        self.ec2 = Ec2(facts, document)
        self.efs = Efs()
        self.fsx = Fsx()
        self.iam = Iam()
        self.kms = Kms()
        self.resource_groups = ResourceGroups()
        self.route53 = Route53()
        self.s3 = S3()
        self.secretsmanager = SecretsManager()
        self.ssm = Ssm()
