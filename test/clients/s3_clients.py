"""boto3 by the names of S3 and by the endpoint of its configuration, with the bucket in the name and in the path."""
import boto3
from botocore.config import Config

for style in "virtual", "path":
    for ignore in True, False:
        settings = Config(s3={"addressing_style": style}, ignore_configured_endpoint_urls=ignore)
        client = boto3.client("s3", config=settings)
        key = "a b/c+d é%25.txt " + style
        client.put_object(Bucket="from-pypi", Key=key, Body=b"x" * 100000)
        got = client.get_object(Bucket="from-pypi", Key=key)["Body"].read()
        print(style, len(got), client.meta.endpoint_url.replace("s3.amazonaws.com", "s3.us-east-1.amazonaws.com"))
