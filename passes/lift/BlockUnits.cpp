// How the threads of all blocks share the work, taken back:
//
//   row = blockIdx.x * 8 + threadIdx.x / 32               ->   dimension row, as wide as blocks times warps
//   for (c = lane; c < n; c += 32) ...                    ->   dimension c in [0, n)
//   for (i = gid; i < n; i += blockDim.x * gridDim.x) ... ->   dimension i in [0, n), shared by all blocks
//
// Legality: the thread's part of the value must take every number from 0 to the factor of the block index (or the step of the
// loop), each once; then nothing is left out and nothing is done twice.
#include "BlockLifter.h"

namespace retile::lift {

using model::Type;
using model::Variable;

bool BlockLifter::isThread(const std::string& name) const {
  return !name.empty() && std::find(threadNames.begin(), threadNames.end(), name) != threadNames.end();
}

/// How many values 0, 1, ... a value over thread indices takes; nullopt where it skips or repeats in between.
std::optional<Polynomial> BlockLifter::spread(const Polynomial& threads) const {
  if (threads.isZero()) return Polynomial(1);
  auto ofAtom = [&](const poly::AtomRef& atom) -> std::optional<Polynomial> {
    if (atom->kind == poly::Atom::Symbol) {
      for (int a = 0; a < 3; ++a)
        if (threadNames[a] == atom->text && isThread(atom->text)) return out.dim(atom->text)->to;
      return std::nullopt;
    }
    if (atom->kind != poly::Atom::FloorDiv && atom->kind != poly::Atom::Mod) return std::nullopt;
    auto inner = spread(atom->operands[0]);
    auto count = inner ? inner->constant() : std::nullopt, width = atom->operands[1].constant();
    if (!count || !width || *width <= 0) return std::nullopt;
    bool isMod = atom->kind == poly::Atom::Mod;
    if (*count <= *width) return Polynomial(isMod ? *count : 1);
    if (*count % *width != 0) return std::nullopt;
    return Polynomial(isMod ? *width : *count / *width);
  };
  // Digits of a mixed radix: every factor is the product of the ranges below it, and no thread index is used twice but as
  // quotient and remainder of one division.
  std::vector<std::pair<std::int64_t, poly::AtomRef>> digits;
  std::set<std::string> indices;
  for (const auto& [monomial, coefficient] : threads.monomials()) {
    if (monomial.size() != 1 || coefficient <= 0) return std::nullopt;
    auto atom = threads.atom(monomial[0]);
    digits.emplace_back(coefficient, atom);
    for (const auto& name : atom->kind == poly::Atom::Symbol ? std::set<std::string>{atom->text} : atom->operands[0].symbols())
      if (!indices.insert(name).second) return std::nullopt;
  }
  std::stable_sort(digits.begin(), digits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Polynomial product(1);
  for (const auto& [coefficient, atom] : digits) {
    auto count = ofAtom(atom);
    if (!(product == Polynomial(coefficient)) || !count) return std::nullopt;
    product = product * *count;
  }
  return product;
}

Polynomial BlockLifter::withoutUnits(Polynomial value) const {
  for (const Unit& unit : units)
    value = value.substitute(unit.name, unit.value);
  return value;
}

/// Splits a value into what thread indices give and the rest.
static std::pair<Polynomial, Polynomial> splitThreads(const Polynomial& value, const std::array<std::string, 3>& names) {
  Polynomial threads;
  for (const auto& [monomial, coefficient] : value.monomials()) {
    Polynomial term(coefficient);
    bool mentions = false;
    for (const auto& part : monomial) {
      term = term * Polynomial::of(value.atom(part));
      for (const auto& name : names)
        mentions = mentions || (!name.empty() && Polynomial::of(value.atom(part)).mentions(name));
    }
    if (mentions) threads = threads + term;
  }
  return {threads, value - threads};
}

void BlockLifter::nameUnit(int variable) {
  const Variable& declared = out.kernel.variables[variable];
  if (!namesUnits || assignedInAll.count(variable) || declared.type.kind != Type::Int || mayDepth > 0) return;
  for (size_t loop : openLoops)
    if (!isThread(out.loops[loop].name)) return;
  Value held = environment[variable];
  if (held.kind != Value::Integer) return;
  for (Dim& dim : out.parallel) {
    if (!dim.isBlockIndex) continue;
    auto factor = held.value.coefficient(dim.name);
    if (!factor || factor->isZero() || factor->constant() == 1) continue;
    Polynomial rest = held.value - *factor * Polynomial::symbol(dim.name);
    auto width = spread(rest);
    if (!width || !(*width == *factor)) continue;
    std::string name = declared.name;
    while (out.isSize(name) || dimNames().count(name))
      name += "_";
    units.push_back({name, held.value});
    dim.isBlockIndex = false;
    dim.name = name;
    dim.type = declared.type;
    dim.end = dim.end * *width;
    environment[variable].value = Polynomial::symbol(name);
    return;
  }
}

bool BlockLifter::distribute(const Counted& found, Dim& dim) const {
  if (found.isDown) return false;
  auto [threads, rest] = splitThreads(withoutUnits(found.from), threadNames);
  auto width = spread(threads);
  if (!width || threads.isZero()) return false;
  for (int a = 0; a < 3; ++a) {
    Polynomial block = Polynomial::symbol(axes[a].block), blocks = out.axisKnown[a] ? out.grid[a] : Polynomial::symbol(axes[a].gridSymbol);
    if (!(found.step == *width * blocks) || !(rest.coefficient(axes[a].block).value_or(Polynomial()) == *width)) continue;
    rest = rest - *width * block;
    dim.isStrided = true;
    dim.axis = a;
    width = found.step;
  }
  if (!(found.step == *width) || !rest.toIsl(dimNames())) return false;
  if (!found.to.toIsl(dimNames())) return false;
  dim.isDistributed = true;
  dim.from = rest;
  dim.to = found.to;
  dim.step = Polynomial(1);
  return true;
}

/// Thread indices that the element does not depend on are bound in the conditions, or left out.
void BlockLifter::dropIdleThreads() {
  for (Access& access : out.accesses) {
    std::set<std::string> used = access.flat.symbols();
    for (const auto& name : access.loops)
      if (!isThread(name)) {
        used.merge(out.dim(name)->from.symbols());
        used.merge(out.dim(name)->to.symbols());
      }
    std::string bound, ranges;
    std::set<std::string> mentioned = poly::namesIn(access.conditions);
    std::erase_if(access.loops, [&](const std::string& name) {
      if (!isThread(name) || used.count(name)) return false;
      if (!mentioned.count(name)) return true;
      bound += (bound.empty() ? "" : ", ") + name;
      ranges += "0 <= " + name + " and ";
      if (auto end = out.dim(name)->to.toIsl({})) ranges += name + " < " + *end + " and ";
      return true;
    });
    if (!bound.empty()) access.conditions = "(exists " + bound + " : " + ranges + access.conditions + ")";
  }
  std::set<std::string> named;
  for (const Access& access : out.accesses)
    named.insert(access.loops.begin(), access.loops.end());
  openLoops.clear();
  std::erase_if(out.loops, [&](const Dim& dim) { return !named.count(dim.name); });
}

} // namespace retile::lift
