"""Loads moto once and forks a server for each client of the Unix socket that is descriptor 3.

A client may be in a network of its own: its server listens there. It sends the machine images that its server has, a line of JSON, and reads what the server prints. The server ends when its
client closes the connection, so that nobody leaves one behind. Loading takes seconds of a CPU, a fork some milliseconds.

IAM of moto 5.2 has AWS's 1,400 managed policies in each partition. It reads them for all seven partitions at the first call,
because it looks for the caller's key there. Here partitions that nobody has used are not made, and the policies of the usual one
are read before the first fork.

For each call moto lists its own directory and its methods, and werkzeug prints a line that nobody reads: a third of a call's time.
Both lists are made once here. What it answers is the same.

Python looks for garbage in cycles after each 700 objects by itself, a quarter of what moto takes to load; here after each 200,000.

Its network interfaces have random addresses of their subnet, one in fifty of them one that AWS keeps, such as the router's. Here they have
others, each another one, from the last on.

Its backends are dictionaries that calls of other threads change while they are gone through ("dictionary changed size during
iteration"). Python runs one of the threads at a time anyway.
"""

import ctypes
import functools
import gc
import ipaddress
import json
import os
import signal
import socket
import struct
import threading

gc.set_threshold(200_000)

from moto import backends
from moto.core import DEFAULT_ACCOUNT_ID, responses
from moto.ec2.models import amis, elastic_network_interfaces
from moto.iam import models
from moto.moto_api._internal import mock_random
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.server import main
from werkzeug.serving import WSGIRequestHandler

# The services that tests call most. Others are loaded by the server that is asked for them.
LOADED = ("ec2", "efs", "iam", "logs", "moto_api", "s3", "secretsmanager", "ssm", "sts")


def account_of(access_key):
    for account, partitions in list(models.iam_backends.items()):
        if any(access_key in iam.access_keys for iam in list(partitions.values())):
            return account
    return models.DEFAULT_ACCOUNT_ID


assert models.get_account_id_from
models.get_account_id_from = account_of

def address_in(cidr=None, ipv6=False):
    if ipv6 or not cidr:
        return random_address(cidr, ipv6)
    network = ipaddress.IPv4Network(cidr)
    given[cidr] = given.get(cidr, -1) + 1
    return str(network[-2 - given[cidr] % (network.num_addresses - 5)])  # AWS keeps the first four and the last


given = {}
random_address = elastic_network_interfaces.random_private_ip
elastic_network_interfaces.random_private_ip = address_in

modules = list(backends.list_of_moto_modules())
backends.list_of_moto_modules = lambda: modules
responses.method_names_from_class = functools.cache(responses.method_names_from_class)
WSGIRequestHandler.log_request = lambda self, code="-", size="-": None


def one_at_a_time(self, environ, start_response):
    with turn:
        return answer(self, environ, start_response)


turn = threading.Lock()
answer = DomainDispatcherApplication.__call__
DomainDispatcherApplication.__call__ = one_at_a_time


def fork_for_each(listener):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # servers that end are forgotten
    while True:
        client, _ = listener.accept()
        process, user, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        if user == os.getuid() and os.fork() == 0:
            listener.close()
            serve(client, f"/proc/{process}/ns/net")
        client.close()


def serve(client, network):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if os.readlink(network) != os.readlink("/proc/self/ns/net"):
        enter(network)
    mock_random.seed()  # else all servers would make the same identifiers
    amis.AMIS = json.loads(client.makefile("rb").readline())
    os.dup2(client.fileno(), 1)
    os.dup2(client.fileno(), 2)
    threading.Thread(target=end_with, args=(client,), daemon=True).start()
    main(["-H", "127.0.0.1", "-p", "0"])
    os._exit(0)


def enter(network):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(os.open(network, os.O_RDONLY), 0):
        raise OSError(ctypes.get_errno(), "enter the network of the client")


def end_with(client):
    client.recv(1)
    os._exit(0)


for service in LOADED:
    backends.get_backend(service)
models.iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
gc.freeze()
fork_for_each(socket.socket(fileno=3))
