#include "retile/KernelModel/Print.h"

namespace retile::model {

/// C++ binary precedence, higher binds tighter.
static int precedence(const std::string& op) {
  static const std::map<std::string, int> table{
      {"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5}, {"==", 6}, {"!=", 6}, {"<", 7}, {">", 7},
      {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
  auto found = table.find(op);
  return found == table.end() ? 0 : found->second;
}

constexpr int unaryPrecedence = 11, postfixPrecedence = 12;

std::string ExprPrinter::print(const Expr& expr, int minimum) const {
  if (leaf)
    if (std::string own = leaf(expr); !own.empty()) return own;
  auto wrap = [&](const std::string& text, int own) { return own < minimum ? "(" + text + ")" : text; };
  switch (expr.kind) {
  case ExprKind::IntLiteral:
    return expr.value < 0 ? "(" + expr.text + ")" : expr.text;
  case ExprKind::Literal:
  case ExprKind::MacroSize:
  case ExprKind::Builtin:
  case ExprKind::Opaque:
    return expr.text;
  case ExprKind::Variable:
  case ExprKind::Array:
    return expr.variable >= 0 ? kernel.variables[expr.variable].name : expr.text;
  case ExprKind::Unary: {
    std::string operand = print(*expr.operands[0], unaryPrecedence);
    // "- -x" must not become "--x".
    bool clash = !operand.empty() && operand[0] == expr.text[0];
    return wrap(expr.text + (clash ? "(" + operand + ")" : operand), unaryPrecedence);
  }
  case ExprKind::Binary: {
    int own = precedence(expr.text);
    return wrap(print(*expr.operands[0], own) + " " + expr.text + " " + print(*expr.operands[1], own + 1), own);
  }
  case ExprKind::Select:
    return "(" + print(*expr.operands[0], 1) + " ? " + print(*expr.operands[1], 0) + " : " + print(*expr.operands[2], 0) + ")";
  case ExprKind::Cast:
    if (expr.implicit) return print(*expr.operands[0], minimum);
    return wrap("(" + expr.type.name + ")" + print(*expr.operands[0], unaryPrecedence), unaryPrecedence);
  case ExprKind::Load:
    return print(*expr.operands[0], postfixPrecedence) + "[" + print(*expr.operands[1], 0) + "]";
  case ExprKind::PointerAdd:
    return "(" + print(*expr.operands[0], 9) + " + " + print(*expr.operands[1], 10) + ")";
  case ExprKind::AddressOf:
    return "&" + print(*expr.operands[0], unaryPrecedence);
  case ExprKind::Access:
  case ExprKind::Affine:
    return expr.text;
  case ExprKind::Member:
    return print(*expr.operands[0], postfixPrecedence) + "." + expr.text;
  case ExprKind::Call: {
    // ".f" is a method of the first operand, "T{" a value made of its parts.
    bool isMethod = expr.text[0] == '.', isList = expr.text.back() == '{';
    std::string arguments;
    for (size_t n = isMethod; n < expr.operands.size(); ++n)
      arguments += (n == isMethod ? "" : ", ") + print(*expr.operands[n], 0);
    if (isList) return expr.text + arguments + "}";
    return (isMethod ? print(*expr.operands[0], postfixPrecedence) : "") + expr.text + "(" + arguments + ")";
  }
  }
  return expr.text;
}

std::string print(const Kernel& kernel, const ExprRef& expr) {
  return expr ? ExprPrinter(kernel).print(expr) : "";
}

static void printStmts(const Kernel& kernel, const std::vector<StmtRef>& stmts, int depth, std::string& out);

static std::string inlineStmts(const Kernel& kernel, const std::vector<StmtRef>& stmts) {
  std::string text;
  printStmts(kernel, stmts, 0, text);
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

static void printStmts(const Kernel& kernel, const std::vector<StmtRef>& stmts, int depth, std::string& out) {
  for (const StmtRef& stmt : stmts) {
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    std::string value = print(kernel, stmt->value);
    switch (stmt->kind) {
    case StmtKind::Block: break;
    case StmtKind::Declare: {
      const Variable& variable = kernel.variables[stmt->variable];
      out += indent + "let " + variable.name + ": " + variable.type.name;
      for (auto extent : variable.extents)
        out += "[" + std::to_string(extent) + "]";
      out += (value.empty() ? "" : " = " + value) + "\n";
      break;
    }
    case StmtKind::Assign:
    case StmtKind::Store:
      out += indent + (stmt->kind == StmtKind::Store ? "store " : "") + print(kernel, stmt->target) + " " + stmt->text +
             " " + value + "\n";
      break;
    case StmtKind::If:
      out += indent + "if " + value + "\n";
      printStmts(kernel, stmt->body, depth + 1, out);
      if (!stmt->otherwise.empty()) {
        out += indent + "else\n";
        printStmts(kernel, stmt->otherwise, depth + 1, out);
      }
      continue;
    case StmtKind::For:
      out += indent + "for " + inlineStmts(kernel, stmt->init) + "; " + value + "; " + inlineStmts(kernel, stmt->step) + "\n";
      break;
    case StmtKind::While: out += indent + (stmt->isDo ? "do-while " : "while ") + value + "\n"; break;
    case StmtKind::Return: out += indent + "return\n"; break;
    case StmtKind::Break: out += indent + "break\n"; break;
    case StmtKind::Continue: out += indent + "continue\n"; break;
    case StmtKind::Barrier: out += indent + "barrier\n"; break;
    case StmtKind::Atomic: out += indent + stmt->text + " " + print(kernel, stmt->target) + ", " + value + "\n"; break;
    case StmtKind::Sync:
    case StmtKind::Opaque: out += indent + "opaque " + stmt->text + "\n"; break;
    }
    printStmts(kernel, stmt->body, depth + 1, out);
  }
}

std::string print(const Kernel& kernel) {
  std::string out = "kernel " + kernel.instance + "(";
  for (size_t n = 0; n < kernel.parameters.size(); ++n) {
    const Variable& p = kernel.variables[kernel.parameters[n]];
    out += (n ? ", " : "") + p.type.name + " " + p.name;
  }
  out += ")\n";
  printStmts(kernel, kernel.body, 1, out);
  return out;
}

} // namespace retile::model
