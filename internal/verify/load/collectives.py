"""Runs collectives of torch.distributed on ranks that Slurm started, checks their data, and says what they took.

It reads lines of JSON from its input and writes some, each under 1000 bytes, to its output. Bandwidths are what nccl-tests calls algbw
and busbw: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""
import datetime, json, os, queue, socket, sys, threading, time

RANK, RANKS = int(os.environ.get("SLURM_PROCID", "0")), int(os.environ.get("SLURM_NTASKS", "1"))
NODE = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
PERIOD = 251  # of the values: sums of so small integers are exact in float32


def say(kind, **what):
    what.update(kind=kind, node=NODE, rank=RANK)
    os.write(1, (json.dumps(what)[:990] + "\n").encode())


def listen(orders):
    for line in sys.stdin:
        orders.put(json.loads(line))
    os._exit(0)  # who asked has gone


def order(orders, do):
    while True:
        told = orders.get()
        if told.get("do") == do:
            return told


def own_address(towards):
    if not towards:
        return socket.gethostbyname(NODE)
    family, _, _, _, to = socket.getaddrinfo(towards, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.connect(to)  # nothing is sent
        return s.getsockname()[0]


def interface(address):
    import fcntl, struct

    for _, name in socket.if_nameindex():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            try:
                there = fcntl.ioctl(s.fileno(), 0x8915, struct.pack("256s", name.encode()))[20:24]  # SIOCGIFADDR
            except OSError:
                continue
            if socket.inet_ntoa(there) == address:
                return name
    return ""


def meeting_place(dist, *where, **how):
    """A TCPStore, also of a PyTorch without libuv, as Debian 13's."""
    try:
        return dist.TCPStore(*where, **how)
    except RuntimeError as e:
        if "libuv" not in str(e):
            raise
        return dist.TCPStore(*where, use_libuv=False, **how)


class Bench:
    def __init__(self, torch, told, device):
        self.torch, self.dist, self.device, self.gloo = torch, torch.distributed, device, told["backend"] == "gloo"
        self.ramp = torch.arange(PERIOD, device=device, dtype=torch.int64)

    def values(self, rank, start, count):
        """What a rank has at some places of its buffer."""
        one = ((self.ramp + start) * 7 + rank * 13) % PERIOD
        return one.to(self.torch.float32).repeat(count // PERIOD + 1)[:count]

    def total(self, start, count):
        one = sum(((self.ramp + start) * 7 + r * 13) % PERIOD for r in range(RANKS))
        return one.to(self.torch.float32).repeat(count // PERIOD + 1)[:count]

    def prepare(self, name, elements):
        """The buffers of a collective, what it does, and what must be there afterwards on this rank."""
        d, part = self.dist, elements // RANKS
        every = lambda size: self.torch.empty(size, dtype=self.torch.float32, device=self.device)
        if name in ("all_reduce", "reduce", "broadcast"):
            buffer = every(elements)
            if name == "broadcast":
                right = self.values(0, 0, elements)
                run = lambda: d.broadcast(buffer, 0)
            else:
                right = self.total(0, elements) if name == "all_reduce" or RANK == 0 else None
                run = (lambda: d.all_reduce(buffer)) if name == "all_reduce" else (lambda: d.reduce(buffer, 0))
            return buffer, self.values(RANK, 0, elements), lambda: buffer, run, right
        if name == "all_gather":
            have, got = every(part), every(part * RANKS)
            pieces = list(got.chunk(RANKS))
            into = getattr(d, "all_gather_into_tensor", None) or getattr(d, "_all_gather_base", None)
            run = (lambda: d.all_gather(pieces, have)) if self.gloo else (lambda: into(got, have))
            right = self.torch.cat([self.values(r, 0, part) for r in range(RANKS)])
            return have, self.values(RANK, 0, part), lambda: got, run, right
        have, got = every(part * RANKS), every(part * RANKS)
        if name == "alltoall":
            right = self.torch.cat([self.values(r, RANK * part, part) for r in range(RANKS)])
            return have, self.values(RANK, 0, part * RANKS), lambda: got, lambda: d.all_to_all_single(got, have), right
        one = every(part)
        if self.gloo:  # it has no reduce_scatter
            def run():
                d.all_to_all_single(got, have)
                self.torch.sum(got.view(RANKS, part), 0, out=one)
        else:
            scatter = getattr(d, "reduce_scatter_tensor", None) or d._reduce_scatter_base
            run = lambda: scatter(one, have)
        return have, self.values(RANK, 0, part * RANKS), lambda: one, run, self.total(RANK * part, part)

    def wait(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def agreed(self, number, how):
        """A number of all ranks: their sum, or that of rank 0."""
        t = self.torch.tensor([float(number)], dtype=self.torch.float64, device=self.device)
        self.dist.all_reduce(t) if how == "sum" else self.dist.broadcast(t, 0)
        return t.item()

    def timed(self, run, times):
        self.dist.barrier()
        begun = time.perf_counter()
        for _ in range(times):
            run()
        self.wait()
        return (time.perf_counter() - begun) / times

    def measure(self, name, size, seconds):
        elements = max(size // 4, RANKS)
        have, filled, result, run, right = self.prepare(name, elements)
        if name not in ("all_reduce", "reduce", "broadcast"):
            elements = elements // RANKS * RANKS
        have.copy_(filled)
        run()
        self.wait()
        wrong = 0 if right is None else int((result() != right).sum().item())
        if wrong:
            say("wrong", op=name, bytes=elements * 4, wrong=wrong)
        have.zero_()  # sums of sums would grow without end
        once = self.timed(run, 1)
        times = int(self.agreed(max(1, min(200, seconds / max(once, 1e-6))), "first"))
        took = self.agreed(self.timed(run, times), "sum") / RANKS
        wrong = int(self.agreed(wrong, "sum"))
        return elements, times, took, wrong


def bus_factor(name):
    if name == "all_reduce":
        return 2 * (RANKS - 1) / RANKS
    return 1 if name in ("broadcast", "reduce") else (RANKS - 1) / RANKS


def measure_all(bench, told):
    begun, sizes = time.perf_counter(), []
    size = 8
    while size <= told["max"]:
        sizes.append(size)
        size *= told["factor"]
    names = told["operations"]
    each = told["seconds"] / len(names) / len(sizes) / 2
    limit = told.get("limit", 0)
    for place, name in enumerate(names):
        until = told["seconds"] * (place + 1) / len(names)
        done, late = set(), False
        for size in sizes:
            passed = bench.agreed(time.perf_counter() - begun, "first")
            if size > 8 and passed > max(until, limit):
                if RANK == 0:
                    say("note", op=name, why="the time was over before messages of %d bytes" % size)
                break
            if until < passed <= limit and not late:
                late = True
                if RANK == 0:
                    say("note", op=name, why="the time was short: messages of %d bytes and more were measured once" % size)
            elements, times, took, wrong = bench.measure(name, size, 0 if late else each)
            if RANK != 0 or elements in done:
                continue
            done.add(elements)
            alg = elements * 4 / took / 1e9
            whole = name in ("all_reduce", "reduce", "broadcast")
            say(
                "row", op=name, bytes=elements * 4, count=elements if whole else elements // RANKS, us=took * 1e6, alg=alg,
                bus=alg * bus_factor(name), wrong=wrong, times=times, inplace=whole,
                redop="sum" if "reduce" in name else "none", root=0 if name in ("broadcast", "reduce") else -1,
            )
        if RANK == 0 and name == "reduce_scatter" and bench.gloo:
            say("note", op=name, why="gloo has no reduce_scatter: it is an alltoall and a sum")


def main():
    orders = queue.Queue()
    threading.Thread(target=listen, args=(orders,), daemon=True).start()
    told = order(orders, "begin")
    try:
        address = own_address(told.get("towards"))
        name = interface(address)
        if name:
            os.environ["GLOO_SOCKET_IFNAME"] = os.environ["NCCL_SOCKET_IFNAME"] = name
        import torch, torch.distributed as dist

        device = "cpu"
        if told["backend"] == "nccl":
            if not torch.cuda.device_count():
                raise RuntimeError("PyTorch sees no GPU here")
            device = "cuda"
        else:
            torch.set_num_threads(1)
    except Exception as e:
        say("blind", why=str(e)[:300])
        return
    try:
        if device == "cuda":
            torch.cuda.set_device(int(os.environ.get("SLURM_LOCALID", "0")) % torch.cuda.device_count())
        say("ready", torch=torch.__version__)
        wait = datetime.timedelta(seconds=60)
        if RANK == 0:
            order(orders, "meet")
            store = meeting_place(dist, address, 0, RANKS, True, wait, wait_for_workers=False)
            say("store", address=address, port=store.port)
            order(orders, "join")
        else:
            at = order(orders, "join")
            store = meeting_place(dist, at["address"], at["port"], RANKS, False, wait)
        dist.init_process_group(told["backend"], store=store, rank=RANK, world_size=RANKS, timeout=wait)
        measure_all(Bench(torch, told, device), told)
        dist.barrier()
        say("end")
    except Exception as e:
        say("broken", why=str(e).replace("\n", " ")[:300])
    sys.stdout.flush()
    os._exit(0)


main()
