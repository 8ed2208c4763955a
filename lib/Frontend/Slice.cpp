// The slice is cut by names: starting from the kernel's text, every identifier that a top-level declaration
// of the user or a macro of the user gives a meaning to pulls that in, text and all, until nothing is new.
// That finds what dependent code, inactive #if branches and macro bodies need, too, which the AST alone does
// not show; what it pulls in beyond the need is device code that compiles anyway, because host functions,
// host variables and other kernels never come along.
#include "Slice.h"

#include "RtcPrelude.h"
#include "SliceHeaders.h"
#include "SourceUnits.h"

#include <set>

namespace retile::frontend {
namespace {

const clang::FunctionDecl* functionOf(const clang::Decl* decl) {
  if (const auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl))
    return pattern->getTemplatedDecl();
  return llvm::dyn_cast<clang::FunctionDecl>(decl);
}

bool isKernel(const clang::FunctionDecl* function) {
  return function && function->hasAttr<clang::CUDAGlobalAttr>();
}

/// A function that only the host can run.
bool isHostOnly(const clang::Decl* decl) {
  const clang::FunctionDecl* function = functionOf(decl);
  return function && !llvm::isa<clang::CXXDeductionGuideDecl>(function) &&
         !function->hasAttr<clang::CUDADeviceAttr>() && !function->hasAttr<clang::CUDAGlobalAttr>() &&
         !function->isConstexpr();
}

/// Whether the user wrote the attribute; constexpr functions have execution spaces without.
template <class Attribute> bool isWritten(const clang::Decl* decl) {
  const Attribute* attribute = decl->getAttr<Attribute>();
  return attribute && !attribute->isImplicit();
}

/// A variable of the host: neither in device memory nor a constant.
bool isHostVariable(const clang::Decl* decl) {
  if (const auto* pattern = llvm::dyn_cast<clang::VarTemplateDecl>(decl))
    decl = pattern->getTemplatedDecl();
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
  return variable && !variable->hasAttr<clang::CUDADeviceAttr>() &&
         !variable->hasAttr<clang::CUDAConstantAttr>() && !variable->hasAttr<clang::HIPManagedAttr>() &&
         !variable->isConstexpr() && !variable->getType().isConstQualified();
}

/// "namespace a {namespace b {}}" on a line of its own; nothing for the user's own namespaces.
std::string emptyNamespace(const clang::NamespaceDecl* space) {
  if (isUserCode(space->getASTContext().getSourceManager(), space->getLocation()))
    return "";
  std::string text;
  for (const clang::DeclContext* at = space; at && !at->isTranslationUnit(); at = at->getParent())
    if (const auto* around = llvm::dyn_cast<clang::NamespaceDecl>(at); around && !around->isInline())
      text = "namespace " + around->getNameAsString() + " {" + text + "}";
  return text + "\n";
}

void replaceAll(std::string& text, llvm::StringRef from, llvm::StringRef to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// The declaration as clang prints it, with CUDA's spellings: for what a macro made.
std::string printed(const clang::Decl* decl) {
  clang::PrintingPolicy policy(decl->getASTContext().getLangOpts());
  policy.SuppressUnwrittenScope = true;
  std::string text;
  llvm::raw_string_ostream out(text);
  decl->print(out, policy);
  for (const char* space : {"global", "device", "host", "shared", "constant"})
    replaceAll(text, std::string("__attribute__((") + space + "))", std::string("__") + space + "__");
  replaceAll(text, "__attribute__((launch_bounds(", "__launch_bounds__((");
  replaceAll(text, "__restrict ", "__restrict__ ");
  const bool closed = functionOf(decl) && functionOf(decl)->doesThisDeclarationHaveABody();
  return closed ? text : text + ";";
}

} // namespace

/// What the file offers to slices.
struct Slicer::Index {
  Index(clang::ASTContext& context, const clang::Preprocessor& preprocessor, const MacroLog& log,
        const TunableMacros& macros)
      : context(context), preprocessor(preprocessor), sources(context.getSourceManager()), log(log),
        macros(macros), units(context) {
    for (size_t i = 0; i < units.all().size(); ++i)
      for (const clang::Decl* decl : units.all()[i].decls)
        addNames(decl, static_cast<int>(i));
    for (size_t i = 0; i < log.records.size(); ++i)
      macrosByName[log.records[i].name].push_back(i);
  }

  clang::ASTContext& context;
  const clang::Preprocessor& preprocessor;
  const clang::SourceManager& sources;
  const MacroLog& log;
  const TunableMacros& macros;
  SourceUnits units;
  std::map<std::string, std::vector<int>, std::less<>> unitsByName;
  std::map<std::string, std::vector<size_t>, std::less<>> macrosByName;
  std::vector<int> operators;  ///< units with overloaded operators for the device
  std::vector<int> directives; ///< units with `using namespace`

  void name(llvm::StringRef text, int unit) {
    if (!text.empty())
      unitsByName[text.str()].push_back(unit);
  }

  void addNames(const clang::Decl* decl, int unit) {
    if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl)) {
      for (const clang::Decl* inner : linkage->decls())
        addNames(inner, unit);
      return;
    }
    if (llvm::isa<clang::UsingDirectiveDecl>(decl))
      return directives.push_back(unit);
    if (isHostOnly(decl) || isHostVariable(decl))
      return;
    const clang::FunctionDecl* function = functionOf(decl);
    if (isKernel(function))
      return;
    if (function && function->isOverloadedOperator())
      operators.push_back(unit);
    if (const auto* guide = llvm::dyn_cast_or_null<clang::CXXDeductionGuideDecl>(function))
      return name(guide->getDeducedTemplate()->getName(), unit);
    if (const auto* enumeration = llvm::dyn_cast<clang::EnumDecl>(decl))
      for (const clang::EnumConstantDecl* value : enumeration->enumerators())
        name(value->getName(), unit);
    const auto* named = llvm::dyn_cast<clang::NamedDecl>(decl);
    if (named && named->getDeclName().isIdentifier())
      name(named->getName(), unit);
    // A member that is defined outside its class comes with the class.
    if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(decl->getDeclContext()))
      name(record->getName(), unit);
  }

  /// The definition of the macro that a use at `where` means.
  std::optional<size_t> activeMacro(llvm::StringRef name, clang::SourceLocation begin,
                                    clang::SourceLocation end) const {
    const auto found = macrosByName.find(name);
    if (found == macrosByName.end())
      return std::nullopt;
    std::optional<size_t> last;
    for (size_t i : found->second) {
      const MacroRecord& record = log.records[i];
      if (!record.commandLine && !sources.isBeforeInTranslationUnit(record.defined, end))
        continue;
      if (record.undefined.isValid() && sources.isBeforeInTranslationUnit(record.undefined, begin))
        continue;
      last = i;
    }
    return last;
  }

  std::string macroBody(const MacroRecord& record) const {
    const auto [file, begin] = sources.getDecomposedLoc(record.defined);
    const clang::SourceLocation last = record.info->getDefinitionEndLoc();
    const unsigned end =
        sources.getFileOffset(last) + clang::Lexer::MeasureTokenLength(last, sources, context.getLangOpts());
    return sources.getBufferData(file).slice(begin, end).str();
  }
};

namespace {

/// One piece of the result.
struct Piece {
  clang::SourceLocation where;
  std::string text;
  std::vector<const clang::DeclContext*> contexts;
  bool isMacro = false;
};

} // namespace

/// Follows names from one kernel.
class SliceBuilder {
public:
  SliceBuilder(const Slicer::Index& index, const clang::FunctionDecl* kernel);
  SliceText run();

private:
  const Slicer::Index& index;
  const clang::FunctionDecl* kernel;
  const clang::FunctionDecl* pattern; ///< what is written: the template of an instance, else the kernel
  std::set<int> units;
  std::set<size_t> macros;
  std::vector<int> open;

  bool needUnit(int unit);
  void needNames(llvm::StringRef text, clang::SourceLocation begin, clang::SourceLocation end,
                 bool withMacros);
  void needMacro(size_t record, clang::SourceLocation begin, clang::SourceLocation end);
  void follow(int unit);
  void needOperators();
  void needDirectives();
  bool isTarget(const clang::Decl* decl) const;
  bool wholeExpansion(const SourceUnit& unit) const;
  std::vector<const clang::Decl*> wanted(const SourceUnit& unit) const;
  std::string unitText(const SourceUnit& unit) const;
  std::string annotated(const SourceUnit& unit) const;
  void annotateFunction(const clang::Decl* decl, std::map<unsigned, std::string>& insertions) const;
  void hideHostMembers(const clang::CXXRecordDecl* record, std::map<unsigned, std::string>& insertions) const;
  void unitPieces(std::vector<Piece>& out) const;
  void macroPieces(std::vector<Piece>& out) const;
  std::string includes(llvm::StringRef body) const;
  std::string assemble(std::vector<Piece> pieces) const;
};

SliceBuilder::SliceBuilder(const Slicer::Index& index, const clang::FunctionDecl* kernel)
    : index(index), kernel(kernel) {
  const clang::FunctionDecl* from = kernel->getTemplateInstantiationPattern();
  pattern = from ? from : kernel;
}

/// The kernel itself, its redeclarations, and the template that it specialises.
bool SliceBuilder::isTarget(const clang::Decl* decl) const {
  const clang::FunctionDecl* function = functionOf(decl);
  if (!function)
    return false;
  if (function->getCanonicalDecl() == pattern->getCanonicalDecl())
    return true;
  const clang::FunctionTemplateDecl* primary = pattern->getPrimaryTemplate();
  return primary && primary->getTemplatedDecl()->getCanonicalDecl() == function->getCanonicalDecl();
}

bool SliceBuilder::needUnit(int unit) {
  if (unit < 0 || !units.insert(unit).second)
    return false;
  open.push_back(unit);
  return true;
}

void SliceBuilder::needNames(llvm::StringRef text, clang::SourceLocation begin, clang::SourceLocation end,
                             bool withMacros) {
  for (const Identifier& identifier : identifiers(text, index.context.getLangOpts())) {
    if (withMacros)
      if (auto record = index.activeMacro(identifier.name, begin, end))
        needMacro(*record, begin, end);
    if (identifier.afterDot)
      continue;
    if (auto found = index.unitsByName.find(identifier.name); found != index.unitsByName.end())
      for (int unit : found->second)
        needUnit(unit);
  }
}

void SliceBuilder::needMacro(size_t record, clang::SourceLocation begin, clang::SourceLocation end) {
  if (!macros.insert(record).second)
    return;
  needNames(index.macroBody(index.log.records[record]), begin, end, true);
}

/// Whether the text of an expansion may stand as it is: it makes nothing that only the host can use, and no
/// other kernel.
bool SliceBuilder::wholeExpansion(const SourceUnit& unit) const {
  return llvm::none_of(unit.decls, [&](const clang::Decl* decl) {
    return isHostOnly(decl) || isHostVariable(decl) || (isKernel(functionOf(decl)) && !isTarget(decl));
  });
}

/// The declarations of an expansion that are printed one by one.
std::vector<const clang::Decl*> SliceBuilder::wanted(const SourceUnit& unit) const {
  std::vector<const clang::Decl*> out;
  for (const clang::Decl* decl : unit.decls)
    if (!isHostOnly(decl) && !isHostVariable(decl) && (!isKernel(functionOf(decl)) || isTarget(decl)))
      out.push_back(decl);
  return out;
}

std::string SliceBuilder::unitText(const SourceUnit& unit) const {
  if (!unit.isExpansion || wholeExpansion(unit))
    return annotated(unit);
  std::string text;
  for (const clang::Decl* decl : wanted(unit))
    text += (text.empty() ? "" : "\n") + printed(decl);
  return text;
}

/// The unit's text, made fit for a run-time compiler, which refuses host functions: constexpr functions get
/// the execution spaces that nvcc gives them anyway, and it does not see the member functions that only the
/// host has.
std::string SliceBuilder::annotated(const SourceUnit& unit) const {
  std::map<unsigned, std::string> insertions;
  for (const clang::Decl* decl : unit.decls) {
    annotateFunction(decl, insertions);
    if (const auto* pattern = llvm::dyn_cast<clang::ClassTemplateDecl>(decl))
      decl = pattern->getTemplatedDecl();
    if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(decl))
      hideHostMembers(record, insertions);
  }
  std::string text = index.units.text(unit).str();
  for (auto at = insertions.rbegin(); at != insertions.rend(); ++at)
    if (at->first >= unit.begin && at->first <= unit.end)
      text.insert(at->first - unit.begin, at->second);
  return text;
}

void SliceBuilder::annotateFunction(const clang::Decl* decl,
                                    std::map<unsigned, std::string>& insertions) const {
  const clang::FunctionDecl* function = functionOf(decl);
  if (!function || !function->isConstexpr() || isWritten<clang::CUDADeviceAttr>(function) ||
      isWritten<clang::CUDAHostAttr>(function) || isKernel(function) ||
      function->getInnerLocStart().isMacroID())
    return;
  insertions[index.sources.getFileOffset(function->getInnerLocStart())] = "__host__ __device__ ";
}

void SliceBuilder::hideHostMembers(const clang::CXXRecordDecl* record,
                                   std::map<unsigned, std::string>& insertions) const {
  for (const clang::Decl* member : record->decls()) {
    if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(member);
        nested && nested->isThisDeclarationADefinition())
      hideHostMembers(nested, insertions);
    const clang::FunctionDecl* function = functionOf(member);
    const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(function);
    if (!method || member->isImplicit() || !isHostOnly(member) || method->isDefaulted() ||
        method->isDeleted() || method->isVirtual())
      continue;
    const auto extent = index.units.extentOf(member);
    if (!extent)
      continue;
    insertions[extent->first] += "\n#ifndef __CUDACC_RTC__\n";
    insertions[extent->second] = "\n#endif\n" + insertions[extent->second];
  }
}

void SliceBuilder::follow(int number) {
  const SourceUnit& unit = index.units.all()[number];
  const clang::SourceLocation end = unit.start.getLocWithOffset(unit.end - unit.begin);
  const bool asWritten = !unit.isExpansion || wholeExpansion(unit);
  needNames(unitText(unit), unit.start, end, asWritten);
  // Names that a macro pastes together are in no text: look at what the expansion made.
  if (unit.isExpansion && asWritten)
    for (const clang::Decl* decl : unit.decls)
      needNames(printed(decl), unit.start, end, false);
}

/// Overloaded operators have no name in the text: they come when a type of theirs did, or when all are the
/// system's.
void SliceBuilder::needOperators() {
  for (int unit : index.operators) {
    for (const clang::Decl* decl : index.units.all()[unit].decls) {
      const clang::FunctionDecl* function = functionOf(decl);
      if (!function || !function->isOverloadedOperator())
        continue;
      bool ours = false;
      for (const clang::ParmVarDecl* parameter : function->parameters()) {
        const auto type = parameter->getType().getNonReferenceType();
        const clang::Decl* record = type->getAsTagDecl();
        if (const auto* made = type->getAs<clang::TemplateSpecializationType>())
          record = made->getTemplateName().getAsTemplateDecl();
        const int home = record ? index.units.unitOf(record) : -1;
        ours |= home >= 0;
        if (home >= 0 && units.contains(home))
          needUnit(unit);
      }
      if (!ours && !llvm::isa<clang::CXXMethodDecl>(function))
        needUnit(unit);
    }
  }
}

/// `using namespace` of a namespace that is the system's, or that something in the slice is in.
void SliceBuilder::needDirectives() {
  for (int unit : index.directives)
    for (const clang::Decl* decl : index.units.all()[unit].decls) {
      const auto* directive = llvm::dyn_cast<clang::UsingDirectiveDecl>(decl);
      if (!directive || directive->getNominatedNamespace()->isAnonymousNamespace())
        continue;
      const clang::NamespaceDecl* space = directive->getNominatedNamespace();
      // std::chrono, std::literals and the like serve the host.
      if (space->isInStdNamespace() && !space->isStdNamespace())
        continue;
      const bool used =
          !isUserCode(index.sources, space->getLocation()) || llvm::any_of(units, [&](int other) {
            return llvm::any_of(index.units.all()[other].contexts, [&](const clang::DeclContext* context) {
              const auto* around = llvm::dyn_cast<clang::NamespaceDecl>(context);
              return around && around->getCanonicalDecl() == space->getCanonicalDecl();
            });
          });
      if (used)
        units.insert(unit);
    }
}

void SliceBuilder::unitPieces(std::vector<Piece>& out) const {
  for (int number : units) {
    const SourceUnit& unit = index.units.all()[number];
    Piece piece{unit.start, unitText(unit), unit.contexts};
    if (llvm::any_of(unit.decls, [&](const clang::Decl* decl) {
          if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl))
            return llvm::any_of(linkage->decls(), [&](const clang::Decl* inner) { return isTarget(inner); });
          return isTarget(decl);
        }))
      piece.text = "#ifndef RETILE_NO_REFERENCE\n" + piece.text + "\n#endif";
    // A namespace that no header of the slice declares must exist before it is used.
    for (const clang::Decl* decl : unit.decls)
      if (const auto* directive = llvm::dyn_cast<clang::UsingDirectiveDecl>(decl))
        piece.text = emptyNamespace(directive->getNominatedNamespace()) + piece.text;
    out.push_back(std::move(piece));
  }
}

void SliceBuilder::macroPieces(std::vector<Piece>& out) const {
  for (size_t number : macros) {
    const MacroRecord& record = index.log.records[number];
    const bool overridable = record.commandLine || index.macros.values().contains(record.name);
    std::string text = "#define " + index.macroBody(record);
    if (overridable)
      text = "#ifndef " + record.name + "\n" + text + "\n#endif";
    out.push_back({record.commandLine ? clang::SourceLocation() : record.defined, text, {}, true});
    if (record.undefined.isValid())
      out.push_back({record.undefined, "#undef " + record.name, {}, true});
  }
}

std::string SliceBuilder::includes(llvm::StringRef body) const {
  std::set<std::string, std::less<>> names;
  for (const Identifier& identifier : identifiers(body, index.context.getLangOpts()))
    names.insert(identifier.name.str());
  std::string out = sliceHeaders(index.log, names);
  for (size_t own : macros)
    names.erase(index.log.records[own].name);
  return out + rtcPrelude(names, body.contains("std::")) + "\n";
}

std::string opening(const clang::DeclContext* context) {
  const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(context);
  if (!space)
    return "extern \"C\" {";
  const std::string kind = space->isInline() ? "inline namespace " : "namespace ";
  return space->isAnonymousNamespace() ? kind + "{" : kind + space->getNameAsString() + " {";
}

/// Whether two contexts are the same block as far as a reader can tell: namespaces may be reopened.
bool sameContext(const clang::DeclContext* a, const clang::DeclContext* b) {
  return a->getPrimaryContext() == b->getPrimaryContext() ||
         (llvm::isa<clang::LinkageSpecDecl>(a) && llvm::isa<clang::LinkageSpecDecl>(b));
}

std::string SliceBuilder::assemble(std::vector<Piece> pieces) const {
  const auto before = [&](const Piece* a, const Piece* b) {
    if (a->where.isInvalid() || b->where.isInvalid())
      return a->where.isInvalid() && b->where.isValid();
    return index.sources.isBeforeInTranslationUnit(a->where, b->where);
  };
  std::vector<const Piece*> order;
  for (const Piece& piece : pieces)
    order.push_back(&piece);
  std::sort(order.begin(), order.end(), before);

  std::string out;
  std::vector<const clang::DeclContext*> current;
  const Piece* previous = nullptr;
  for (const Piece* piece : order) {
    const std::vector<const clang::DeclContext*>& around = piece->isMacro ? current : piece->contexts;
    size_t common = 0;
    while (common < current.size() && common < around.size() && sameContext(current[common], around[common]))
      ++common;
    for (; current.size() > common; current.pop_back())
      out += "}\n";
    for (; common < around.size(); ++common) {
      out += opening(around[common]) + "\n";
      current.push_back(around[common]);
    }
    if (previous && !(previous->isMacro && piece->isMacro))
      out += "\n";
    out += piece->text + "\n";
    previous = piece;
  }
  for (; !current.empty(); current.pop_back())
    out += "}\n";
  return includes(out) + out;
}

SliceText SliceBuilder::run() {
  const int own = index.units.unitOf(pattern);
  if (own < 0)
    return {};
  for (size_t i = 0; i < index.units.all().size(); ++i)
    if (llvm::any_of(index.units.all()[i].decls, [&](const clang::Decl* decl) { return isTarget(decl); }))
      needUnit(static_cast<int>(i));
  needUnit(own);
  // Template arguments of the instance are named at the launch, not in the kernel.
  clang::PrintingPolicy policy(index.context.getLangOpts());
  policy.PrintAsCanonical = true;
  std::string instance;
  llvm::raw_string_ostream stream(instance);
  kernel->getNameForDiagnostic(stream, policy, true);
  needNames(instance, kernel->getLocation(), kernel->getLocation(), false);
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    follow(next);
    if (open.empty())
      needOperators();
  }
  needDirectives();

  SliceText out;
  const SourceUnit& unit = index.units.all()[own];
  out.source = unitText(unit);
  std::vector<Piece> pieces;
  unitPieces(pieces);
  macroPieces(pieces);
  out.reference = assemble(std::move(pieces));
  return out;
}

Slicer::Slicer(clang::ASTContext& context, const clang::Preprocessor& preprocessor, const MacroLog& log,
               const TunableMacros& macros)
    : index(std::make_unique<Index>(context, preprocessor, log, macros)) {}

Slicer::~Slicer() = default;

SliceText Slicer::slice(const clang::FunctionDecl* kernel) { return SliceBuilder(*index, kernel).run(); }

} // namespace retile::frontend
