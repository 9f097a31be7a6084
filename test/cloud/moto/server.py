"""Starts moto's server, with less work for each call, and with one call at a time.

IAM of moto 5.2 has AWS's 1,400 managed policies in each partition. It reads them for all seven partitions at the first call,
because it looks for the caller's key there, and again when everything is to be forgotten, just before it forgets them: seconds of a
CPU for each double. Here partitions that nobody has used are not made, the policies are read once in a process, and nothing
is made to be forgotten.

For each call moto lists its own directory and its methods, and werkzeug prints a line that nobody reads: a third of a call's time.
Both lists are made once here. What it answers is the same.

Python looks for garbage in cycles after each 700 objects by itself, a quarter of what a server takes to start; here after each 200,000.

Its backends are dictionaries that calls of other threads change while they are gone through ("dictionary changed size during
iteration"). Python runs one of the threads at a time anyway.
"""

import copy
import functools
import gc
import threading

gc.set_threshold(200_000)

from moto import backends
from moto.core import responses
from moto.iam import models
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.server import main
from werkzeug.serving import WSGIRequestHandler


def account_of(access_key):
    for account, partitions in list(models.iam_backends.items()):
        if any(access_key in iam.access_keys for iam in list(partitions.values())):
            return account
    return models.DEFAULT_ACCOUNT_ID


def policies(self):
    key = self.account_id, self.region_name
    if key not in read:
        read[key] = read_policies(self)
    return [copy.copy(policy) for policy in read[key]]


read = {}
read_policies = models.IAMBackend._init_aws_policies
assert models.get_account_id_from
models.get_account_id_from = account_of
models.IAMBackend._init_aws_policies = policies
models.IAMBackend.reset = lambda self: None  # all of them are dropped right after it

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

main()
