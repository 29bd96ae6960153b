// Sections, symbols and relocations of a static object, one behind the other.

#include "compiler/Emit/StaticObject.h"
#include "compiler/Emit/FileLayout.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <algorithm>

using namespace llvm;
using namespace sdc;

namespace {

using Bytes = std::vector<uint8_t>;

template <typename T> void append(Bytes &bytes, const T &value) {
  const auto *first = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

/// Names, each ended by a zero, the empty one first.
class StringTable {
public:
  uint32_t add(StringRef name) {
    auto offset = static_cast<uint32_t>(bytes.size());
    bytes.insert(bytes.end(), name.begin(), name.end());
    bytes.push_back(0);
    return offset;
  }
  Bytes bytes = {0};
};

class ObjectBuilder {
public:
  explicit ObjectBuilder(int64_t size) : executableSize(size) {
    headers.push_back({}); // The null section.
  }

  StaticObject build(ArrayRef<StaticImage> images,
                     ArrayRef<std::string> kernels, StringRef symbol);

private:
  using Symbol = ELF::Elf64_Sym;

  /// Adds a section with `content` behind what is there; its index.
  uint16_t addSection(StringRef name, uint32_t type, uint64_t flags,
                      uint64_t alignment, ArrayRef<uint8_t> content,
                      uint32_t link = 0, uint32_t info = 0, uint64_t entry = 0);
  void addSymbol(StringRef name, unsigned char binding, unsigned char type,
                 uint16_t section, uint64_t value, uint64_t size);
  /// A symbol for the begin of a section; its index.
  uint32_t sectionSymbol(uint16_t section) {
    addSymbol("", ELF::STB_LOCAL, ELF::STT_SECTION, section, 0, 0);
    return static_cast<uint32_t>(symbols.size() - 1);
  }
  /// Appends a pointer to the table.
  void addPointer(uint32_t toSymbol, int64_t addend) {
    ELF::Elf64_Rela relocation = {};
    relocation.r_offset = table.size();
    relocation.setSymbolAndType(toSymbol, ELF::R_X86_64_64);
    relocation.r_addend = addend;
    relocations.push_back(relocation);
    append(table, uint64_t(0));
  }
  void addCode(const StaticImage &image, ArrayRef<std::string> kernels);

  int64_t executableSize;
  Bytes tail;
  Bytes table;
  std::vector<ELF::Elf64_Shdr> headers;
  std::vector<ELF::Elf64_Rela> relocations;
  std::vector<Symbol> symbols = {{}};
  StringTable sectionNames, symbolNames;
  /// Of the code of each image.
  std::vector<uint32_t> codeSymbols;
};

uint16_t ObjectBuilder::addSection(StringRef name, uint32_t type,
                                   uint64_t flags, uint64_t alignment,
                                   ArrayRef<uint8_t> content, uint32_t link,
                                   uint32_t info, uint64_t entry) {
  tail.resize(alignTo(tail.size(), alignment), 0);
  ELF::Elf64_Shdr header = {};
  header.sh_name = sectionNames.add(name);
  header.sh_type = type;
  header.sh_flags = flags;
  header.sh_offset = kPageBytes + executableSize + tail.size();
  header.sh_size = content.size();
  header.sh_link = link;
  header.sh_info = info;
  header.sh_addralign = alignment;
  header.sh_entsize = entry;
  tail.insert(tail.end(), content.begin(), content.end());
  headers.push_back(header);
  return static_cast<uint16_t>(headers.size() - 1);
}

void ObjectBuilder::addSymbol(StringRef name, unsigned char binding,
                              unsigned char type, uint16_t section,
                              uint64_t value, uint64_t size) {
  Symbol symbol = {};
  symbol.st_name = name.empty() ? 0 : symbolNames.add(name);
  symbol.setBindingAndType(binding, type);
  symbol.st_shndx = section;
  symbol.st_value = value;
  symbol.st_size = size;
  symbols.push_back(symbol);
}

/// The code of a level, with a local symbol for each kernel, for debuggers and
/// profilers.
void ObjectBuilder::addCode(const StaticImage &image,
                            ArrayRef<std::string> kernels) {
  uint16_t section =
      addSection((".text.sdx." + image.level).str(), ELF::SHT_PROGBITS,
                 ELF::SHF_ALLOC | ELF::SHF_EXECINSTR, 64, image.image->bytes);
  codeSymbols.push_back(sectionSymbol(section));
  std::vector<uint64_t> ends(image.image->offsets);
  ends.push_back(image.image->bytes.size());
  llvm::sort(ends);
  for (auto [name, offset] : llvm::zip(kernels, image.image->offsets))
    addSymbol((name + "." + image.level).str(), ELF::STB_LOCAL, ELF::STT_FUNC,
              section, offset,
              *std::upper_bound(ends.begin(), ends.end(), offset) - offset);
}

StaticObject ObjectBuilder::build(ArrayRef<StaticImage> images,
                                  ArrayRef<std::string> kernels,
                                  StringRef symbol) {
  // The bytes lie in front of the tail, at the first page.
  ELF::Elf64_Shdr bytes = {};
  bytes.sh_name = sectionNames.add(".lrodata.sdx");
  bytes.sh_type = ELF::SHT_PROGBITS;
  bytes.sh_flags = ELF::SHF_ALLOC | ELF::SHF_X86_64_LARGE;
  bytes.sh_offset = kPageBytes;
  bytes.sh_size = executableSize;
  bytes.sh_addralign = kPageBytes;
  headers.push_back(bytes);
  uint32_t bytesSymbol = sectionSymbol(1);
  for (const StaticImage &image : images)
    addCode(image, kernels);

  // sdc_static_model, sdc_static_image for each level, kernels of each level,
  // names of the levels.
  constexpr int64_t kModelSize = 40, kImageSize = 16;
  auto tableIndex =
      static_cast<uint16_t>(headers.size()); // Of the section that comes next.
  uint32_t tableSymbol = sectionSymbol(tableIndex);
  int64_t kernelsAt =
      kModelSize + kImageSize * static_cast<int64_t>(images.size());
  int64_t kernelsSize = 8 * static_cast<int64_t>(kernels.size());
  int64_t namesAt =
      kernelsAt + kernelsSize * static_cast<int64_t>(images.size());
  append(table, uint64_t(kModelSize));
  addPointer(bytesSymbol, 0);
  append(table, static_cast<uint64_t>(executableSize));
  addPointer(tableSymbol, kModelSize);
  append(table, static_cast<uint32_t>(images.size()));
  append(table, static_cast<uint32_t>(kernels.size()));
  int64_t name = namesAt;
  for (size_t i = 0; i < images.size(); ++i) {
    addPointer(tableSymbol, name);
    addPointer(tableSymbol, kernelsAt + kernelsSize * static_cast<int64_t>(i));
    name += static_cast<int64_t>(images[i].level.size()) + 1;
  }
  for (size_t i = 0; i < images.size(); ++i)
    for (uint64_t offset : images[i].image->offsets)
      addPointer(codeSymbols[i], static_cast<int64_t>(offset));
  for (const StaticImage &image : images) {
    table.insert(table.end(), image.level.begin(), image.level.end());
    table.push_back(0);
  }
  addSection(".data.rel.ro.sdx", ELF::SHT_PROGBITS,
             ELF::SHF_ALLOC | ELF::SHF_WRITE, 64, table);

  auto locals = static_cast<uint32_t>(symbols.size());
  addSymbol(symbol, ELF::STB_GLOBAL, ELF::STT_OBJECT, tableIndex, 0,
            kModelSize);
  auto raw = [](const auto &list) {
    const auto *first = reinterpret_cast<const uint8_t *>(list.data());
    return ArrayRef(first, list.size() * sizeof(list[0]));
  };
  uint32_t symbolTable = tableIndex + 2, strings = tableIndex + 3;
  addSection(".rela.data.rel.ro.sdx", ELF::SHT_RELA, ELF::SHF_INFO_LINK, 8,
             raw(relocations), symbolTable, tableIndex,
             sizeof(ELF::Elf64_Rela));
  addSection(".symtab", ELF::SHT_SYMTAB, 0, 8, raw(symbols), strings, locals,
             sizeof(Symbol));
  addSection(".strtab", ELF::SHT_STRTAB, 0, 1, symbolNames.bytes);
  // The stack of the host stays as it is.
  addSection(".note.GNU-stack", ELF::SHT_PROGBITS, 0, 1, {});
  // The last name must be in the table before the table is a section.
  StringTable names = sectionNames;
  names.add(".shstrtab");
  uint16_t nameSection =
      addSection(".shstrtab", ELF::SHT_STRTAB, 0, 1, names.bytes);

  ELF::Elf64_Ehdr header = {};
  std::copy_n(ELF::ElfMagic, 4, header.e_ident);
  header.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header.e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header.e_type = ELF::ET_REL;
  header.e_machine = ELF::EM_X86_64;
  header.e_version = ELF::EV_CURRENT;
  tail.resize(alignTo(tail.size(), 8), 0);
  header.e_shoff = kPageBytes + executableSize + tail.size();
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(ELF::Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(headers.size());
  header.e_shstrndx = nameSection;
  for (const ELF::Elf64_Shdr &section : headers)
    append(tail, section);

  StaticObject object;
  append(object.head, header);
  object.head.resize(kPageBytes, 0);
  object.tail = std::move(tail);
  return object;
}

} // namespace

StaticObject sdc::wrapExecutable(int64_t size, ArrayRef<StaticImage> images,
                                 ArrayRef<std::string> kernels,
                                 StringRef symbol) {
  return ObjectBuilder(size).build(images, kernels, symbol);
}

std::string sdc::staticSymbol(StringRef path) {
  std::string name;
  for (char c : sys::path::stem(path))
    name += isAlnum(c) ? c : '_';
  if (name.empty() || isDigit(name.front()))
    name.insert(0, "_");
  return name + "_sdx";
}

std::string sdc::staticHeader(StringRef path, StringRef symbol) {
  std::string guard = "SDC_STATIC_" + symbol.upper() + "_H";
  std::string file = sys::path::filename(path).str();
  return "// The executable that " + file +
         " holds; made by sdc compile --emit object.\n"
         "//\n"
         "//   sdc_model_open_static(&" +
         symbol.str() +
         ", NULL, &model, &error)\n"
         "#ifndef " +
         guard + "\n#define " + guard +
         "\n\n#include <sdc/sdc.h>\n\n"
         "#ifdef __cplusplus\nextern \"C\"\n#endif\n"
         "extern const sdc_static_model " +
         symbol.str() + ";\n\n#endif // " + guard + "\n";
}
