// A rank of NCCL's RAS service without a GPU: NVIDIA's own src/ras, with no more around it than it calls. It has begun as many
// AllReduce operations as the files count and countRANK of a directory say. The samples rasd-* are what three of them answered.
//
//	rasd RANK RANKS DIRECTORY 127.0.0.1:0
//
// Built from NCCL 2.30.7 (commit 5067397c), whose nccl.h.in has its versions filled in as src/include/nccl.h, and the headers of
// PyPI's nvidia-cuda-runtime-cu12, nvidia-cuda-nvcc-cu12 and nvidia-cuda-cccl-cu12, found by -I:
//
//	g++ -std=c++17 -w -no-pie -DNCCL_OS_LINUX -Isrc -Isrc/include -Isrc/include/plugin ... -o rasd rasd.cc
//	    src/ras/{ras,rasnet,peers,collectives,client_support}.cc src/misc/{socket,utils,param}.cc src/debug.cc
//	    src/param/param_registry.cc src/os/linux.cc src/os/linux_socket_pair.cc -Wl,--unresolved-symbols=ignore-all -lpthread -ldl
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include "comm.h"
#include "transport.h"
#include "ras.h"
#include "socket.h"
#include "utils.h"
#include "core.h"
#include "device.h"

// What libnccl has elsewhere.
const char* ncclFuncStr[NCCL_NUM_FUNCTIONS] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};
const char* ncclFuncToString(ncclFunc_t f) { return ncclFuncStr[f]; }
void ncclInitEnv() {}
const char* ncclEnvPluginGetEnv(const char* n) { return getenv(n); }
bool ncclEnvPluginInitialized() { return true; }
int ncclParamSetCpuStackSize() { return 0; }
extern "C" {
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { *v = 12090; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* v) { *v = 12090; return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
}
extern "C" bool ncclParamIsCacheDisabled(const char*) { return false; }
extern "C" const char* ncclParamEnvPluginGet(const char* key, bool) { return getenv(key); }

int main(int argc, char** argv) {
  int rank = atoi(argv[1]), n = atoi(argv[2]);
  std::string dir = argv[3];
  ncclComm* comm = (ncclComm*)calloc(1, sizeof(ncclComm));
  comm->commHash = 0xae94423cfbb2ef4aULL; comm->nRanks = n; comm->rank = rank;
  comm->cudaDev = rank; comm->nvmlDev = rank;
  comm->peerInfo = (ncclPeerInfo*)calloc(n + 1, sizeof(ncclPeerInfo));
  for (int i = 0; i < n; i++) { comm->peerInfo[i].hostHash = 77 + comm->commHash; comm->peerInfo[i].pidHash = 1000 + i + comm->commHash; comm->peerInfo[i].cudaDev = comm->peerInfo[i].nvmlDev = i; comm->peerInfo[i].rank = i; }
  comm->abortFlag = (uint32_t*)calloc(1, 4); comm->peerInfoValid = true;
  rasRankInit me; memset(&me, 0, sizeof me);
  if (ncclSocketGetAddrFromString(&me.addr, argv[4]) != ncclSuccess) return 2;
  me.pid = getpid(); me.cudaDev = me.nvmlDev = rank; me.hostHash = 77; me.pidHash = 1000 + rank;
  if (ncclRasCommInit(comm, &me) != ncclSuccess) { fprintf(stderr, "init\n"); return 3; }
  std::string p = dir + "/rank" + std::to_string(rank);
  FILE* f = fopen((p + ".tmp").c_str(), "w"); fwrite(&me, sizeof me, 1, f); fclose(f); rename((p + ".tmp").c_str(), p.c_str());
  rasRankInit* all = (rasRankInit*)calloc(n, sizeof me);
  for (int i = 0; i < n; i++) {
    std::string q = dir + "/rank" + std::to_string(i);
    while (!(f = fopen(q.c_str(), "r"))) usleep(10000);
    if (fread(all + i, sizeof me, 1, f) != 1) return 4;
    fclose(f);
  }
  if (ncclRasAddRanks(all, n) != ncclSuccess) return 5;
  for (;; usleep(50000)) {  // has begun as many operations as a file says
    for (std::string name : {dir + "/count", dir + "/count" + std::to_string(rank)}) {
      unsigned long count = 0;
      if ((f = fopen(name.c_str(), "r"))) {
        if (fscanf(f, "%lu", &count) == 1) comm->seqNumber[ncclFuncAllReduce] = count;
        fclose(f);
      }
    }
  }
}
