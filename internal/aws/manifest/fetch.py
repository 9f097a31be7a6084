import hashlib, hmac, json, os, sys, time, urllib.error, urllib.request

root = sys.argv[1]
env = os.environ.get
with open(root + "/etc/muster/ticket.json") as f:
    ticket = json.load(f)
want = ticket["program"]["sha256"]
path = root + "/opt/muster/bin/muster"
limit = float(env("MUSTER_FETCH_SECONDS") or 600)
imds = (env("AWS_EC2_METADATA_SERVICE_ENDPOINT") or "http://169.254.169.254").rstrip("/") + "/latest/"
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Wrong(Exception):
    pass


def metadata(what, header, value, method="GET"):
    request = urllib.request.Request(imds + what, headers={header: value}, method=method)
    with direct.open(request, timeout=5) as answer:
        return answer.read().decode()


def ask(what):
    token = metadata("api/token", "X-aws-ec2-metadata-token-ttl-seconds", "300", "PUT")
    return metadata(what, "X-aws-ec2-metadata-token", token)


def credentials():
    where = "meta-data/iam/security-credentials/"
    return json.loads(ask(where + ask(where).split()[0]))


# Whose the ticket is: an image of this machine has it, too.
def own():
    name = root + "/etc/muster/instance"
    with open(name + ".new", "w") as f:
        f.write(json.loads(ask("dynamic/instance-identity/document"))["instanceId"] + "\n")
    os.replace(name + ".new", name)


def signed(url, c):
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    host, name = url.split("/", 3)[2:]
    headers = {"host": host, "x-amz-content-sha256": hashlib.sha256(b"").hexdigest(), "x-amz-date": now}
    if c.get("Token"):
        headers["x-amz-security-token"] = c["Token"]
    names = ";".join(sorted(headers))
    lines = "".join("%s:%s\n" % h for h in sorted(headers.items()))
    request = "\n".join(["GET", "/" + name, "", lines, names, headers["x-amz-content-sha256"]])
    scope = "/".join([now[:8], ticket["region"], "s3", "aws4_request"])
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + c["SecretAccessKey"]).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        c["AccessKeyId"], scope, names, hmac.new(key, text.encode(), "sha256").hexdigest())
    return urllib.request.Request(url, headers=headers)


def address():
    bucket, region, key = ticket["bucket"], ticket["region"], ticket["program"]["key"]
    own = env("AWS_ENDPOINT_URL_S3") or env("AWS_ENDPOINT_URL")
    if own:
        return own.rstrip("/") + "/" + bucket + "/" + key
    suffix = ".cn" if region.startswith("cn-") else ""
    return "https://%s.s3.%s.amazonaws.com%s/%s" % (bucket, region, suffix, key)


def have():
    if not os.path.exists(path):
        return False
    sum = hashlib.sha256()
    with open(path, "rb") as f:
        for piece in iter(lambda: f.read(1 << 20), b""):
            sum.update(piece)
    return sum.hexdigest() == want


def fetch():
    sum = hashlib.sha256()
    with urllib.request.urlopen(signed(address(), credentials()), timeout=30) as answer, open(path + ".new", "wb") as f:
        for piece in iter(lambda: answer.read(1 << 20), b""):
            sum.update(piece)
            f.write(piece)
        f.flush()
        os.fsync(f.fileno())
    if sum.hexdigest() != want:
        raise Wrong("SHA-256 is %s, not %s" % (sum.hexdigest(), want))
    os.chmod(path + ".new", 0o755)
    os.replace(path + ".new", path)


def hopeless(e):
    return isinstance(e, Wrong) or getattr(e, "code", 0) in (400, 404)


began, pause, sure = time.time(), 1, 0
while True:
    try:
        if not have():
            fetch()
        own()
        break
    except Exception as e:
        sure += hopeless(e)
        print("muster: fetch %s: %s: %s" % (address(), type(e).__name__, e), file=sys.stderr)
        if sure == 3 or time.time() - began + pause > limit:
            sys.exit(1)
    time.sleep(pause)
    pause = min(2 * pause, 15)
