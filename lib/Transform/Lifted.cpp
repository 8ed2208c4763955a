#include "retile/Transform/Lifted.h"

namespace retile::transform {

const char* toString(Level level) {
  static const char* const names[] = {"refuse", "knobs", "partial", "full"};
  return names[static_cast<int>(level)];
}

const Dim* Lifted::dim(const std::string& name) const {
  for (const auto* dims : {&parallel, &loops})
    for (const Dim& dim : *dims)
      if (dim.name == name) return &dim;
  return nullptr;
}

bool Lifted::mentionsUnknown(const Polynomial& value) const {
  for (const auto& name : value.symbols())
    if (unknowns.count(name)) return true;
  return false;
}

bool Lifted::mentionsUnknown(const std::string& isl) const {
  for (const auto& name : poly::namesIn(isl))
    if (unknowns.count(name)) return true;
  return false;
}

/// Names of everything that is no size.
static std::set<std::string> dimsOf(const Lifted& lifted) {
  std::set<std::string> dims;
  for (const auto* list : {&lifted.parallel, &lifted.loops})
    for (const Dim& dim : *list)
      dims.insert(dim.name);
  for (const auto& [name, unknown] : lifted.unknowns)
    dims.insert(name);
  return dims;
}

/// Names that stand for products of sizes, in everything that becomes isl text.
static std::set<std::string> productsOf(const Lifted& lifted) {
  std::set<std::string> names;
  auto addText = [&](const std::string& text) {
    for (const auto& name : poly::namesIn(text))
      if (name.find("_x_") != std::string::npos) names.insert(name);
  };
  std::set<std::string> dims = dimsOf(lifted);
  auto add = [&](const Polynomial& p) {
    if (auto text = p.toIsl(dims)) addText(*text);
  };
  for (const auto& guard : lifted.guards)
    addText(guard);
  for (const auto& [name, unknown] : lifted.unknowns) {
    addText(unknown.constraints);
    addText(unknown.range);
  }
  addText(lifted.domain);
  for (const auto& access : lifted.accesses) {
    addText(access.conditions);
    add(access.flat);
    for (const auto& subscript : access.subscripts)
      add(subscript);
  }
  for (const auto* list : {&lifted.parallel, &lifted.loops})
    for (const Dim& dim : *list)
      for (const Polynomial* p : {&dim.from, &dim.to, &dim.end, &dim.origin})
        add(*p);
  for (const auto& [name, argument] : lifted.arguments)
    add(argument);
  for (const auto& assumption : lifted.assumptions)
    add(assumption.atLeastZero);
  for (const auto& [name, array] : lifted.arrays)
    for (const auto& stride : array.strides)
      add(stride);
  for (const auto& p : lifted.grid)
    add(p);
  return names;
}

std::string Lifted::islParameters() const {
  std::string list;
  for (const auto& [name, size] : sizes)
    list += (list.empty() ? "" : ", ") + name;
  for (const auto& name : productsOf(*this))
    list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "" : "[" + list + "] -> ";
}

std::string Lifted::islContext() const {
  std::string text = "1 = 1";
  for (const auto& [name, size] : sizes) {
    text += " and " + name + " >= 1";
    if (size.bits <= 32) text += " and " + name + " <= 2147483647";
  }
  for (const auto& name : productsOf(*this))
    text += " and " + name + " >= 1";
  for (const auto& assumption : assumptions)
    if (assumption.kind == "size")
      if (auto value = assumption.atLeastZero.toIsl({})) text += " and " + *value + " >= 0";
  return text;
}

bool Lifted::neverNegative(const Polynomial& value) const {
  auto text = value.toIsl({});
  auto broken = text ? poly::Set::parse(islParameters() + "{ : " + islContext() + " and " + *text + " < 0 }") : std::nullopt;
  return broken && broken->isEmpty().value_or(false);
}

std::string predicate(const Assumption& assumption) {
  return assumption.kind == "size" ? assumption.atLeastZero.toText() + " >= 0" : assumption.text;
}

static std::string domainTuple(const Lifted& lifted, const Access& access) {
  std::string tuple;
  for (const Dim& dim : lifted.parallel)
    tuple += (tuple.empty() ? "" : ", ") + dim.name;
  for (const auto* names : {&access.loops, &access.unknowns})
    for (const auto& name : *names)
      tuple += (tuple.empty() ? "" : ", ") + name;
  return tuple;
}

static std::string domainConstraints(const Lifted& lifted, const Access& access, bool withContext) {
  std::set<std::string> dims = dimsOf(lifted);
  std::string text = lifted.domain;
  if (withContext) text += " and " + lifted.islContext();
  for (const auto& name : access.loops) {
    const Dim* loop = lifted.dim(name);
    if (!loop->bounded) continue;
    auto from = loop->from.toIsl(dims), to = loop->to.toIsl(dims);
    auto step = loop->step.constant();
    if (from) text += " and " + name + " >= " + *from;
    if (to) text += " and " + name + " < " + *to;
    if (from && step && *step > 1) text += " and (" + name + " - (" + *from + ")) mod " + std::to_string(*step) + " = 0";
  }
  if (!access.conditions.empty()) text += " and " + access.conditions;
  for (const auto& name : access.unknowns) {
    auto unknown = lifted.unknowns.find(name);
    if (unknown == lifted.unknowns.end()) continue;
    for (const auto* constraints : {&unknown->second.constraints, &unknown->second.range})
      if (!constraints->empty()) text += " and " + *constraints;
  }
  return text;
}

std::string Lifted::islDomain(const Access& access) const {
  return islParameters() + "{ S[" + domainTuple(*this, access) + "] : " + domainConstraints(*this, access, true) + " }";
}

std::string Lifted::reportAccess(const Access& access) const {
  std::string written = islAccess(access, "#");
  if (!access.unknowns.empty()) {
    // S[i] -> A[q] for every value of the unknowns, which people do not want to see.
    std::set<std::string> dims = dimsOf(*this);
    Access shown = access;
    shown.unknowns.clear();
    std::string hidden, target, equal;
    for (const auto& name : access.unknowns)
      hidden += (hidden.empty() ? "" : ", ") + name;
    for (size_t k = 0; k < access.subscripts.size(); ++k) {
      std::string element = "at" + std::to_string(k);
      target += (k ? ", " : "") + element;
      equal += " and " + element + " = " + access.subscripts[k].toIsl(dims).value_or(element);
    }
    written = islParameters() + "{ S[" + domainTuple(*this, shown) + "] -> " + access.array + "[" + target + "] : exists (" + hidden + " : " +
              domainConstraints(*this, access, false) + equal + ") }";
  }
  auto map = poly::Map::parse(written);
  return map ? map->text() : written;
}

std::string Lifted::islAccess(const Access& access, const std::string& target) const {
  std::set<std::string> dims = dimsOf(*this);
  bool isTwin = target == "@T";
  std::string to = target == "#" ? "" : target;
  if (to.empty() || isTwin) {
    for (const auto& subscript : access.subscripts)
      to += (to.empty() || to == "@T" ? "" : ", ") + subscript.toIsl(dims).value_or("0 = 1");
    if (isTwin) to = to.substr(2);
    to = access.array + "[" + to + "]";
  }
  return islParameters() + "{ " + (isTwin ? "T" : "S") + "[" + domainTuple(*this, access) + "] -> " + to + " : " +
         domainConstraints(*this, access, target != "#") + " }";
}

} // namespace retile::transform
