// The driver of the emulated device: the functions that kernels of the host call.
// A copy is done when its stream is waited for, as late as a device may do it.

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace {

struct Copy {
    void* target;
    const void* source;
    size_t nbytes;
};

constexpr int INVALID_CONTEXT = 201, LAUNCH_FAILED = 719;
std::map<void*, std::vector<Copy>> begun;
std::mutex one_by_one;
int device;
thread_local void* current = &device;

}  // namespace

extern "C" {

int copies_before_failure = -1;

int cuInit(unsigned) { return 0; }

int cuDeviceGetCount(int* count) {
    *count = 1;
    return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
    *context = &device;
    return 0;
}

int cuCtxGetCurrent(void** context) {
    *context = current;
    return 0;
}

int cuCtxSetCurrent(void* context) {
    current = context;
    return context == &device ? 0 : INVALID_CONTEXT;
}

int cuMemcpyHtoDAsync_v2(void* target, const void* source, size_t nbytes, void* stream) {
    std::lock_guard<std::mutex> guard(one_by_one);
    if (copies_before_failure == 0) return LAUNCH_FAILED;
    if (copies_before_failure > 0) copies_before_failure--;
    begun[stream].push_back({target, source, nbytes});
    return 0;
}

int cuStreamSynchronize(void* stream) {
    std::lock_guard<std::mutex> guard(one_by_one);
    for (const Copy& copy : begun[stream]) memcpy(copy.target, copy.source, copy.nbytes);
    begun[stream].clear();
    return 0;
}

}
