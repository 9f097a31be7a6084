"""What the RAS service of NCCL's processes says to its verbose question, as it is."""
import socket

with socket.create_connection(("localhost", 28028), timeout=10) as s:
    f = s.makefile("rw")
    for line in ("CLIENT PROTOCOL 2", "TIMEOUT 5", "SET FORMAT json"):
        f.write(line + "\n")
        f.flush()
        print(f.readline().rstrip(), flush=True)
    f.write("VERBOSE STATUS\n")
    f.flush()
    print(f.read())
