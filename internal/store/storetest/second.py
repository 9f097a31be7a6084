# Serves ministack's S3 on a free port of loopback and prints where, until standard input ends. ministack's own server would need
# packages that its S3 does not.
import asyncio
import logging
import os
import sys
import threading
import types
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.etree import ElementTree

sys.modules["defusedxml"] = types.SimpleNamespace(ElementTree=ElementTree)  # nothing here comes from strangers
sys.modules["defusedxml.ElementTree"] = ElementTree
sys.modules["ministack.app"] = types.SimpleNamespace(AUTH=False)

from awscrt import checksums  # noqa: E402
from ministack.services import s3  # noqa: E402

logging.disable(logging.CRITICAL)
s3._crc64nvme = checksums.crc64nvme  # ministack's own is plain Python, and takes longer for a part than clients wait for an answer
one = threading.Lock()  # ministack takes one request at a time


def joined(method, path, headers, asks):
    """S3 compares and keeps the checksum of the whole where parts are joined; ministack knows only one of their checksums."""
    crc = headers.pop("x-amz-checksum-crc64nvme", None) if method == "POST" and "uploadId" in asks else None
    upload = s3._multipart_uploads.get(asks.get("uploadId", [""])[0])
    if not crc or not upload:
        return None, lambda: None
    whole = b"".join(part["body"] for _, part in sorted(upload["parts"].items()))
    if s3._compute_s3_checksum("CRC64NVME", whole) != crc:
        return s3._error("BadDigest", "The CRC64NVME of the whole is another one.", 400), None
    bucket, key = s3._parse_bucket_key(path, headers)

    def keep():
        s3._buckets[bucket]["objects"][key].update(checksums={"CRC64NVME": crc}, checksum_type="FULL_OBJECT")

    return None, keep


def ask(method, path, headers, body, asks):
    refused, keep = joined(method, path, headers, asks)
    if refused:
        return refused
    status, told, answer = asyncio.run(s3.handle_request(method, path, headers, body, asks))
    if status == 200:
        keep()
    return status, told, answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionError
        headers = {k.lower(): v for k, v in self.headers.items()}
        asks = urllib.parse.parse_qs(query, keep_blank_values=True)
        with one:
            status, told, answer = ask(self.command, urllib.parse.unquote(path), headers, body, asks)
        if not isinstance(answer, (bytes, bytearray)):
            answer = (answer or "").encode()
        self.send_response(status)
        for k, v in told.items():
            if k.lower() not in ("content-length", "connection") or self.command == "HEAD":
                self.send_header(k, v)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Connections break: that is what the tests are for. All else is told."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*_)


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("http://127.0.0.1:%d" % server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
