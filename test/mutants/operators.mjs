/** Finds small mutations in a file of the native program; each breaks a check or a rule. */
import ts from 'typescript';

const SWAPPED = new Map([
  [ts.SyntaxKind.LessThanToken, ['<=', '>=']],
  [ts.SyntaxKind.LessThanEqualsToken, ['<', '>']],
  [ts.SyntaxKind.GreaterThanToken, ['>=', '<=']],
  [ts.SyntaxKind.GreaterThanEqualsToken, ['>', '<']],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, ['!==']],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, ['===']],
  [ts.SyntaxKind.AmpersandAmpersandToken, ['||']],
  [ts.SyntaxKind.BarBarToken, ['&&']],
  [ts.SyntaxKind.PlusToken, ['-']],
  [ts.SyntaxKind.MinusToken, ['+']],
]);
const CONFUSED = new Map([
  ['writtenState', 'readState'],
  ['some', 'every'],
  ['every', 'some'],
  ['isDraft', 'isActive'],
  ['isActive', 'isApproved'],
  ['isApproved', 'isDraft'],
  ['INITIATE', 'VOTE'],
  ['VOTE', 'EXECUTE'],
  ['EXECUTE', 'INITIATE'],
]);
const OTHER_ERRORS = ["'AccountNotEnoughKeys'", "'InvalidStaleTransactionIndex'"];
const otherError = (text) => OTHER_ERRORS.find((other) => other !== text);

const isType = (node) =>
  ts.isTypeNode(node) ||
  ts.isImportDeclaration(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node);

function ofExpression(node, source, add) {
  if (ts.isBinaryExpression(node)) {
    for (const token of SWAPPED.get(node.operatorToken.kind) ?? []) add(node.operatorToken, token);
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    add(node, node.operand.getText(source));
  }
  if (ts.isNumericLiteral(node)) add(node, String(Number(node.text.replaceAll('_', '')) + 1));
  if (ts.isBigIntLiteral(node)) add(node, `${BigInt(node.text.replaceAll('_', '').slice(0, -1)) + 1n}n`);
  if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, 'false');
  if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, 'true');
  if (ts.isIdentifier(node) && CONFUSED.has(node.text) && !ts.isBindingElement(node.parent))
    add(node, CONFUSED.get(node.text));
  if (ts.isCallExpression(node) && node.expression.getText(source) === 'copyBytes')
    add(node, node.arguments[0].getText(source));
  if (ts.isConditionalExpression(node)) {
    add(node, node.whenTrue.getText(source));
    add(node, node.whenFalse.getText(source));
  }
}

function ofStatement(node, add) {
  if (ts.isIfStatement(node)) {
    add(node.expression, 'true');
    add(node.expression, 'false');
  }
  if (ts.isExpressionStatement(node)) add(node, ';');
  if (ts.isCaseClause(node) && node.statements.length > 0) add(node.statements[0], 'break;');
  if (ts.isTemplateExpression(node)) add(node, '""');
}

function ofRule(node, source, add) {
  if (ts.isArrayLiteralExpression(node)) {
    node.elements.forEach((element, at) => {
      const end = at + 1 < node.elements.length ? node.elements[at + 1].getStart(source) : element.end;
      add({ getStart: () => element.getStart(source), end }, '');
    });
  }
  if (
    ts.isPropertyAssignment(node) &&
    node.name.getText(source) === 'error' &&
    ts.isStringLiteral(node.initializer)
  ) {
    add(node.initializer, otherError(node.initializer.getText(source)));
  }
  if (ts.isCallExpression(node) && node.expression.getText(source) === 'fail' && node.arguments.length > 1) {
    add(node.arguments[1], otherError(node.arguments[1].getText(source)));
  }
  if (ts.isPropertyAssignment(node) && node.name.getText(source) === 'holds')
    add(node.initializer, '() => true');
}

/** All mutants of a file: position, original text and replacement. */
export function mutantsOf(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = [];
  const add = (node, replacement) => {
    const start = node.getStart(source);
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    found.push({ file, line, start, end: node.end, was: text.slice(start, node.end), replacement });
  };
  const visit = (node) => {
    if (isType(node)) return;
    ofExpression(node, source, add);
    ofStatement(node, add);
    ofRule(node, source, add);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
