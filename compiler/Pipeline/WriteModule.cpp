// Writes a module as text whose paths start from where the text lies.

#include "compiler/Emit/OutputFile.h"
#include "compiler/Pipeline/Pipeline.h"
#include "dialects/Decode/DecodeDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sdc;
namespace path = llvm::sys::path;

/// `target` as seen from `folder`; both absolute, without dots.
static std::string relativeTo(StringRef target, StringRef folder) {
  auto t = path::begin(target), tEnd = path::end(target);
  auto f = path::begin(folder), fEnd = path::end(folder);
  while (t != tEnd && f != fEnd && *t == *f) {
    ++t;
    ++f;
  }
  SmallString<128> result;
  for (; f != fEnd; ++f)
    path::append(result, "..");
  for (; t != tEnd; ++t)
    path::append(result, *t);
  return result.str().str();
}

static SmallString<128> absolute(StringRef name) {
  SmallString<128> result(name);
  llvm::sys::fs::make_absolute(result);
  path::remove_dots(result, /*remove_dot_dot=*/true);
  return result;
}

llvm::Error sdc::writeModule(ModuleOp module, StringRef modelFolder,
                             StringRef name) {
  if (name == "-") {
    module->print(llvm::outs());
    llvm::outs() << "\n";
    return llvm::Error::success();
  }
  SmallString<128> from = absolute(modelFolder);
  SmallString<128> to = absolute(path::parent_path(name));
  OwningOpRef<ModuleOp> copy = module.clone();
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](decode::FileAttr file) -> Attribute {
    SmallString<128> target(file.getPath());
    // A spool without a name can't be found by a later process.
    if (target.starts_with("/proc/"))
      return file;
    if (!path::is_absolute(target)) {
      target = from;
      path::append(target, file.getPath());
    }
    path::remove_dots(target, /*remove_dot_dot=*/true);
    return decode::FileAttr::get(file.getContext(), relativeTo(target, to),
                                 file.getOffset(), file.getLength());
  });
  replacer.recursivelyReplaceElementsIn(*copy);

  llvm::Expected<std::unique_ptr<OutputFile>> file =
      OutputFile::create(name, 0);
  if (!file)
    return file.takeError();
  llvm::raw_fd_ostream os((*file)->descriptor(), /*shouldClose=*/false);
  copy->print(os);
  os << "\n";
  os.flush();
  if (std::error_code error = os.error()) {
    os.clear_error();
    return llvm::createStringError(error, name + ": " + error.message());
  }
  return (*file)->commit();
}
