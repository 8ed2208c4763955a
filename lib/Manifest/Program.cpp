// Expressions as stack code: names are positions, so that a solver can evaluate millions of them.
#include "ExpressionTree.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <fmt/format.h>

namespace retile::manifest {

namespace {

enum class Code { Push, Load, Apply, Not, Abs, Truth, Jump, JumpIfZero };

} // namespace

struct Program::Instruction {
  Code code;
  Op op;
  std::int64_t value; ///< literal, slot or jump target
};

namespace {

class Compiler {
public:
  explicit Compiler(const std::vector<std::string>& slots) : slots(slots) {}
  std::vector<Program::Instruction> code;
  std::string unknown;

  void compile(const Node& node) {
    switch (node.op) {
    case Op::Literal:
      return emit(Code::Push, node.value);
    case Op::Name:
      return load(node.name);
    case Op::Negate:
      emit(Code::Push, 0);
      compile(*node.operands[0]);
      return emit(Code::Apply, 0, Op::Sub);
    case Op::Not:
    case Op::Abs:
      compile(*node.operands[0]);
      return emit(node.op == Op::Not ? Code::Not : Code::Abs, 0);
    case Op::And:
      return choose(node, &Compiler::second, &Compiler::zero);
    case Op::Or:
      return choose(node, &Compiler::one, &Compiler::second);
    case Op::If:
      return choose(node, &Compiler::then, &Compiler::otherwise);
    default:
      compile(*node.operands[0]);
      for (std::size_t i = 1; i < node.operands.size(); ++i) {
        compile(*node.operands[i]);
        emit(Code::Apply, 0, node.op);
      }
    }
  }

private:
  using Branch = void (Compiler::*)(const Node&);

  void emit(Code kind, std::int64_t value, Op op = Op::Literal) { code.push_back({kind, op, value}); }

  void load(const std::string& name) {
    auto found = std::find(slots.begin(), slots.end(), name);
    if (found == slots.end() && unknown.empty())
      unknown = name;
    emit(Code::Load, found - slots.begin());
  }

  void choose(const Node& node, Branch whenTrue, Branch whenFalse) {
    compile(*node.operands[0]);
    std::size_t test = code.size();
    emit(Code::JumpIfZero, 0);
    (this->*whenTrue)(node);
    std::size_t skip = code.size();
    emit(Code::Jump, 0);
    code[test].value = static_cast<std::int64_t>(code.size());
    (this->*whenFalse)(node);
    code[skip].value = static_cast<std::int64_t>(code.size());
  }

  void zero(const Node&) { emit(Code::Push, 0); }
  void one(const Node&) { emit(Code::Push, 1); }
  void then(const Node& node) { compile(*node.operands[1]); }
  void otherwise(const Node& node) { compile(*node.operands[2]); }
  void second(const Node& node) {
    compile(*node.operands[1]);
    emit(Code::Truth, 0);
  }

  const std::vector<std::string>& slots;
};

} // namespace

Expected<Program> Expression::compile(const std::vector<std::string>& slots) const {
  Compiler compiler(slots);
  compiler.compile(*root);
  if (!compiler.unknown.empty())
    return Error{fmt::format("unknown name '{}'", compiler.unknown), ""};
  Program program;
  program.code = std::make_shared<const std::vector<Program::Instruction>>(std::move(compiler.code));
  return program;
}

std::optional<std::int64_t> Program::run(const std::int64_t* slots) const {
  std::array<std::int64_t, maxDepth + 2> stack;
  std::size_t top = 0;
  for (std::size_t at = 0; at < code->size(); ++at) {
    const Instruction& step = (*code)[at];
    assert(top < stack.size());
    switch (step.code) {
    case Code::Push:
      stack[top++] = step.value;
      break;
    case Code::Load:
      stack[top++] = slots[step.value];
      break;
    case Code::Apply:
      --top;
      if (apply(step.op, stack[top - 1], stack[top], stack[top - 1]))
        return std::nullopt;
      break;
    case Code::Not:
      stack[top - 1] = !stack[top - 1];
      break;
    case Code::Truth:
      stack[top - 1] = stack[top - 1] != 0;
      break;
    case Code::Abs:
      if (stack[top - 1] < 0 && apply(Op::Sub, 0, stack[top - 1], stack[top - 1]))
        return std::nullopt;
      break;
    case Code::JumpIfZero:
      if (stack[--top] != 0)
        break;
      [[fallthrough]];
    case Code::Jump:
      at = static_cast<std::size_t>(step.value) - 1;
      break;
    }
  }
  return stack[0];
}

} // namespace retile::manifest
