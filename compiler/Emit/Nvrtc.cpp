// Finds and calls NVRTC; see Nvrtc.h.

#include "compiler/Emit/Nvrtc.h"

#include "kernels/Cuda/DeviceHeaders.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;
using namespace sdc;

/// Folders of a toolkit or a package, relative to what a user names.
static constexpr StringLiteral kFolders[] = {"",
                                             "lib64",
                                             "lib",
                                             "targets/x86_64-linux/lib",
                                             "nvidia/cuda_nvrtc/lib",
                                             "nvidia/cu13/lib"};

/// The library in `root`, the highest version first; empty without one.
static std::string findIn(StringRef root) {
  std::string best;
  for (StringRef folder : kFolders) {
    SmallString<128> path(root);
    if (!folder.empty())
      sys::path::append(path, folder);
    std::error_code error;
    for (sys::fs::directory_iterator at(path, error), end; !error && at != end;
         at.increment(error)) {
      StringRef name = sys::path::filename(at->path());
      if (name.starts_with("libnvrtc.so") && at->path() > best)
        best = at->path();
    }
    if (!best.empty())
      return best;
  }
  return best;
}

/// Folders of the Python packages of the python3 on PATH.
static std::vector<std::string> packageFolders() {
  std::vector<std::string> found;
  ErrorOr<std::string> python = sys::findProgramByName("python3");
  if (!python)
    return found;
  SmallString<128> prefix(sys::path::parent_path(*python));
  sys::path::append(prefix, "..", "lib");
  std::error_code error;
  for (sys::fs::directory_iterator at(prefix, error), end; !error && at != end;
       at.increment(error))
    if (sys::path::filename(at->path()).starts_with("python3"))
      for (const char *packages : {"site-packages", "dist-packages"})
        found.push_back(at->path() + "/" + packages);
  llvm::sort(found);
  return found;
}

Nvrtc::Nvrtc(void *library, std::string file) : file(std::move(file)) {
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, name));
  };
  find(createProgram, "nvrtcCreateProgram");
  find(destroyProgram, "nvrtcDestroyProgram");
  find(compileProgram, "nvrtcCompileProgram");
  find(getLogSize, "nvrtcGetProgramLogSize");
  find(getLog, "nvrtcGetProgramLog");
  find(getCubinSize, "nvrtcGetCUBINSize");
  find(getCubin, "nvrtcGetCUBIN");
  find(getPtxSize, "nvrtcGetPTXSize");
  find(getPtx, "nvrtcGetPTX");
  find(getNumArchs, "nvrtcGetNumSupportedArchs");
  find(getArchs, "nvrtcGetSupportedArchs");
}

Expected<Nvrtc> Nvrtc::open(StringRef folder) {
  std::vector<std::string> candidates;
  if (!folder.empty()) {
    candidates.push_back(findIn(folder));
    if (candidates.back().empty())
      return createStringError("no libnvrtc.so in '" + folder +
                               "', which --cuda-path names");
  } else {
    if (const char *path = std::getenv("CUDA_PATH"))
      candidates.push_back(findIn(path));
    candidates.push_back(findIn("/usr/local/cuda"));
    for (const std::string &packages : packageFolders())
      candidates.push_back(findIn(packages));
    candidates.insert(candidates.end(), {"libnvrtc.so.13", "libnvrtc.so.12"});
  }
  std::string problem;
  for (const std::string &candidate : candidates) {
    if (candidate.empty())
      continue;
    void *library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      if (const char *text = dlerror(); text && problem.empty())
        problem = text;
      continue;
    }
    Nvrtc nvrtc(library, candidate);
    if (nvrtc.createProgram && nvrtc.destroyProgram && nvrtc.compileProgram &&
        nvrtc.getLogSize && nvrtc.getLog && nvrtc.getCubinSize &&
        nvrtc.getCubin && nvrtc.getPtxSize && nvrtc.getPtx &&
        nvrtc.getNumArchs && nvrtc.getArchs)
      return nvrtc;
    problem = candidate + " is too old: CUDA 12 or newer is needed";
  }
  return createStringError(
      "the CUDA compiler NVRTC is needed to compile for CUDA, and was not "
      "found (" +
      problem +
      "): install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, and "
      "name its folder by --cuda-path or CUDA_PATH");
}

Expected<std::vector<int>> Nvrtc::architectures() const {
  int count = 0;
  if (getNumArchs(&count) || count < 1)
    return createStringError(file + " knows no architecture");
  std::vector<int> archs(count);
  if (getArchs(archs.data()))
    return createStringError(file + " does not say what it compiles for");
  return archs;
}

Expected<SmallVector<char, 0>> Nvrtc::compile(const std::string &source,
                                              StringRef arch, bool ptx) const {
  std::vector<const char *> names, texts;
  for (const DeviceHeader &header : deviceHeaders()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  Program program = nullptr;
  if (int code = createProgram(&program, source.c_str(), "kernels.cu",
                               static_cast<int>(names.size()), texts.data(),
                               names.data()))
    return createStringError("NVRTC makes no program, code " + Twine(code));
  std::string architecture =
      ("--gpu-architecture=" +
       (ptx ? "compute_" + arch.substr(StringRef("sm_").size()) : arch))
          .str();
  const char *options[] = {architecture.c_str(), "--std=c++17", "--fmad=true"};
  int code = compileProgram(program, std::size(options), options);
  size_t size = 0;
  if (code) {
    SmallVector<char, 0> log;
    if (!getLogSize(program, &size) && size) {
      log.resize(size);
      getLog(program, log.data());
    }
    destroyProgram(&program);
    return createStringError(StringRef(log.data(), size ? size - 1 : 0));
  }
  SmallVector<char, 0> result;
  bool bad = ptx ? getPtxSize(program, &size) : getCubinSize(program, &size);
  result.resize(size);
  bad = bad || (ptx ? getPtx(program, result.data())
                    : getCubin(program, result.data()));
  destroyProgram(&program);
  if (bad)
    return createStringError("NVRTC gives no code for " + arch);
  if (ptx && !result.empty() && result.back() == '\0')
    result.pop_back();
  return result;
}
