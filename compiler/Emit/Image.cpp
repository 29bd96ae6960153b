// The linker of images. Sections are taken as LLVM writes them; a program that
// needs more than code, constants and distances between them is refused.

#include "compiler/Emit/Image.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace llvm;
using namespace sdc;

namespace {

using Object = object::ELF64LEObjectFile;

Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

class ImageLinker {
public:
  Error add(StringRef bytes, size_t number) {
    auto binary = object::ObjectFile::createELFObjectFile(
        MemoryBufferRef(bytes, "object"));
    if (!binary)
      return binary.takeError();
    auto *elf = dyn_cast<Object>(binary->get());
    if (!elf || elf->getArch() != Triple::x86_64)
      return fail("object " + Twine(number) +
                  ": expected a 64-bit object of x86-64");
    owners.push_back(std::move(*binary));
    objects.push_back(elf);
    return Error::success();
  }

  Expected<CodeImage> link(ArrayRef<std::string> kernels) {
    // Code before constants: the same order whatever the objects.
    for (bool code : {true, false})
      for (size_t i = 0; i < objects.size(); ++i)
        if (Error error = layOut(i, code))
          return std::move(error);
    for (size_t i = 0; i < objects.size(); ++i)
      if (Error error = define(i))
        return std::move(error);
    for (size_t i = 0; i < objects.size(); ++i)
      if (Error error = resolve(i))
        return std::move(error);
    for (const std::string &name : kernels) {
      auto found = globals.find(name);
      if (found == globals.end())
        problem("kernel '" + name + "' is in none of the objects");
      else
        image.offsets.push_back(found->second);
    }
    if (!problems.empty())
      return fail("the code does not make an image: " + problems);
    return std::move(image);
  }

  Expected<std::vector<std::string>> undefined() {
    std::set<std::string> defined, wanted;
    for (Object *object : objects)
      for (const object::ELFSymbolRef &symbol : object->symbols()) {
        auto name = symbol.getName();
        auto flags = symbol.getFlags();
        if (!name)
          return name.takeError();
        if (!flags)
          return flags.takeError();
        if (name->empty())
          continue;
        (*flags & object::SymbolRef::SF_Undefined ? wanted : defined)
            .insert(name->str());
      }
    std::vector<std::string> result;
    for (const std::string &name : wanted)
      if (!defined.count(name))
        result.push_back(name);
    return result;
  }

private:
  std::vector<std::unique_ptr<object::ObjectFile>> owners;
  /// The same, by their type.
  std::vector<Object *> objects;
  /// Where sections lie in the image: (object, section index) -> offset.
  std::map<std::pair<size_t, uint64_t>, uint64_t> placed;
  StringMap<uint64_t> globals;
  CodeImage image;
  std::string problems;

  void problem(const Twine &text) {
    if (!problems.empty())
      problems += "; ";
    problems += text.str();
  }

  /// Sections that are only for debuggers and unwinders.
  static bool isDropped(StringRef name, uint64_t flags, unsigned type) {
    return !(flags & ELF::SHF_ALLOC) || name == ".eh_frame" ||
           type == ELF::SHT_X86_64_UNWIND || type == ELF::SHT_NOTE;
  }

  /// Any symbol of a section, to name what stands in the way.
  std::string symbolIn(Object &object, const object::SectionRef &section) {
    for (const object::ELFSymbolRef &symbol : object.symbols()) {
      auto home = symbol.getSection();
      auto name = symbol.getName();
      if (!home || !name) {
        consumeError(home.takeError());
        consumeError(name.takeError());
        continue;
      }
      if (*home != object.section_end() && **home == section && !name->empty())
        return "'" + name->str() + "'";
    }
    return "no symbol";
  }

  Error layOut(size_t index, bool code) {
    Object &object = *objects[index];
    for (const object::SectionRef &ref : object.sections()) {
      object::ELFSectionRef section(ref);
      auto name = section.getName();
      if (!name)
        return name.takeError();
      uint64_t flags = section.getFlags();
      unsigned type = section.getType();
      if (isDropped(*name, flags, type) || section.getSize() == 0)
        continue;
      if (((flags & ELF::SHF_EXECINSTR) != 0) != code)
        continue;
      const char *kind =
          flags & ELF::SHF_TLS ? "thread-local data"
          : type == ELF::SHT_INIT_ARRAY || type == ELF::SHT_FINI_ARRAY ||
                  name->starts_with(".ctors")
              ? "an initialiser"
          : flags & ELF::SHF_WRITE || type == ELF::SHT_NOBITS ? "writable data"
                                                              : nullptr;
      if (kind) {
        problem("section '" + *name + "' holds " + kind + ", " +
                symbolIn(object, section));
        continue;
      }
      auto contents = section.getContents();
      if (!contents)
        return contents.takeError();
      uint64_t offset =
          alignTo(image.bytes.size(), section.getAlignment().value());
      image.bytes.resize(offset, 0);
      image.bytes.insert(image.bytes.end(), contents->begin(), contents->end());
      placed[{index, section.getIndex()}] = offset;
    }
    return Error::success();
  }

  /// The place of a defined symbol in the image, if its section is there.
  Expected<std::optional<uint64_t>> place(size_t index,
                                          const object::ELFSymbolRef &symbol) {
    auto section = symbol.getSection();
    if (!section)
      return section.takeError();
    if (*section == objects[index]->section_end())
      return std::nullopt;
    auto found = placed.find({index, (*section)->getIndex()});
    if (found == placed.end())
      return std::nullopt;
    auto value = symbol.getValue();
    if (!value)
      return value.takeError();
    return found->second + *value;
  }

  Error define(size_t index) {
    for (const object::ELFSymbolRef &symbol : objects[index]->symbols()) {
      if (symbol.getBinding() == ELF::STB_LOCAL)
        continue;
      auto name = symbol.getName();
      if (!name)
        return name.takeError();
      auto found = place(index, symbol);
      if (!found)
        return found.takeError();
      std::optional<uint64_t> offset = *found;
      if (offset && !globals.try_emplace(*name, *offset).second)
        problem("symbol '" + *name + "' is defined twice");
    }
    return Error::success();
  }

  Error resolve(size_t index) {
    for (const object::SectionRef &section : objects[index]->sections()) {
      auto target = section.getRelocatedSection();
      if (!target)
        return target.takeError();
      if (*target == objects[index]->section_end())
        continue;
      auto found = placed.find({index, (*target)->getIndex()});
      if (found == placed.end())
        continue;
      for (const object::ELFRelocationRef ref : section.relocations())
        if (Error error = resolve(index, found->second, ref))
          return error;
    }
    return Error::success();
  }

  Error resolve(size_t index, uint64_t base,
                const object::ELFRelocationRef &relocation) {
    object::ELFSymbolRef symbol(*relocation.getSymbol());
    auto name = symbol.getName();
    if (!name)
      return name.takeError();
    auto local = place(index, symbol);
    if (!local)
      return local.takeError();
    std::optional<uint64_t> target = *local;
    if (!target)
      if (auto found = globals.find(*name); found != globals.end())
        target = found->second;
    if (!target) {
      problem("symbol '" + *name + "' is not defined");
      return Error::success();
    }
    auto addend = relocation.getAddend();
    if (!addend)
      return addend.takeError();
    uint64_t from = base + relocation.getOffset();
    int64_t distance =
        static_cast<int64_t>(*target) + *addend - static_cast<int64_t>(from);
    switch (relocation.getType()) {
    case ELF::R_X86_64_PC32:
    case ELF::R_X86_64_PLT32:
      if (!isInt<32>(distance))
        problem("symbol '" + *name + "' is too far away");
      support::endian::write32le(&image.bytes[from],
                                 static_cast<uint32_t>(distance));
      return Error::success();
    case ELF::R_X86_64_PC64:
      support::endian::write64le(&image.bytes[from],
                                 static_cast<uint64_t>(distance));
      return Error::success();
    default: {
      SmallString<32> type;
      relocation.getTypeName(type);
      problem("symbol '" + *name + "' is referred to by " + type +
              ", which depends on where the image is mapped");
      return Error::success();
    }
    }
  }
};

Error addAll(ImageLinker &linker, ArrayRef<StringRef> objects) {
  for (size_t i = 0; i < objects.size(); ++i)
    if (Error error = linker.add(objects[i], i))
      return error;
  return Error::success();
}

} // namespace

Expected<CodeImage> sdc::linkImage(ArrayRef<StringRef> objects,
                                   ArrayRef<std::string> kernels) {
  ImageLinker linker;
  if (Error error = addAll(linker, objects))
    return std::move(error);
  return linker.link(kernels);
}

Expected<std::vector<std::string>>
sdc::undefinedSymbols(ArrayRef<StringRef> objects) {
  ImageLinker linker;
  if (Error error = addAll(linker, objects))
    return std::move(error);
  return linker.undefined();
}
