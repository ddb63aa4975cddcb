/**
 * Completion scripts for shells. All words, options and their descriptions stand in the script, so that a key press starts nothing;
 * names of profiles, batches and operations are asked of `flywheel completion --values`, which reads files of this machine only.
 */
import type { Candidate, TreeNode, Values } from './completion-table.js';

/** Shells that a script can be written for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** How a shell writes text, and one case of several. */
interface Syntax {
  readonly quote: (text: string) => string;
  readonly branch: (patterns: readonly string[], command: string) => string;
}

const quotePosix = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const POSIX: Syntax = {
  quote: quotePosix,
  branch: (patterns, command) => `    ${patterns.map(quotePosix).join('|')}) ${command} ;;`,
};

const quoteFish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const FISH: Syntax = {
  quote: quoteFish,
  branch: (patterns, command) => `    case ${patterns.map(quoteFish).join(' ')}\n      ${command}`,
};

const line = ([word, description]: Candidate): string => `${word}\t${description}`;
/** Known words as they are; what has to be looked up by its name behind an @. */
const valueLines = (values: Values): readonly string[] =>
  values.from === 'words' ? values.words : [`@${values.from}`];

/** What may follow which path, as the cases of functions that print it line by line. */
function tables(nodes: readonly TreeNode[], { quote, branch }: Syntax) {
  const print = (lines: readonly string[]): string => `printf '%s\\n' ${lines.map(quote).join(' ')}`;
  const cases = (linesOf: (node: TreeNode) => readonly string[]): string =>
    nodes
      .map((node) => ({ path: node.path, lines: linesOf(node) }))
      .flatMap(({ path, lines }) => (lines.length === 0 ? [] : [branch([path], print(lines))]))
      .join('\n');
  const options = nodes.flatMap(({ path, flags }) =>
    flags.flatMap(({ forms, values }) => (values === null ? [] : [{ path, forms, values }])),
  );
  const flagLines = ({ flags }: TreeNode): readonly string[] => flags.map(({ candidate }) => line(candidate));
  return {
    paths: branch(
      nodes.flatMap(({ path }) => (path === '' ? [] : [path])),
      'return 0',
    ),
    words: cases(({ words, values }) => [...words.map(line), ...new Set(values.flatMap(valueLines))]),
    flags: cases((node) => (node.path === '' ? [] : flagLines(node))),
    globals: print(nodes.filter(({ path }) => path === '').flatMap(flagLines)),
    options: options
      .map(({ path, forms, values }) =>
        branch(
          forms.map((form) => `${path}|${form}`),
          print(valueLines(values)),
        ),
      )
      .join('\n'),
  };
}

/** What bash and zsh have in common: which words lead somewhere, and what may follow them. */
function posixFunctions(nodes: readonly TreeNode[]): string {
  const { paths, words, flags, globals, options } = tables(nodes, POSIX);
  return `__flywheel_is_path() {
  case "$1" in
${paths}
  esac
  return 1
}
__flywheel_words() {
  case "$1" in
${words}
  esac
}
__flywheel_flags() {
  case "$1" in
${flags}
  esac
  ${globals}
}
__flywheel_option() {
  case "$1|$2" in
${options}
  esac
}
__flywheel_value() {
  local value="$(__flywheel_option "$1" "$2")"
  [ -n "$value" ] || value="$(__flywheel_option '' "$2")"
  [ -z "$value" ] || printf '%s\\n' "$value"
}
__flywheel_known() {
  local value=''
  case "$2" in -*) value="$(__flywheel_value "$1" "$2")" ;; esac
  if [ -n "$value" ]; then printf '%s\\n' "$value"; return; fi
  case "$3" in
    -*) __flywheel_flags "$1" ;;
    *) __flywheel_words "$1" ;;
  esac
}
__flywheel_candidates() {
  local line
  __flywheel_known "$@" | while IFS= read -r line; do
    case "$line" in
      @profiles|@batches|@operations) command flywheel completion --values "\${line#@}" 2>/dev/null </dev/null ;;
      *) printf '%s\\n' "$line" ;;
    esac
  done
}`;
}

const bash = (nodes: readonly TreeNode[]): string => `# flywheel completion for bash
${posixFunctions(nodes)}
_flywheel() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' previous='' word next line at widest=0 tab=$'\\t'
  local -a words=() descriptions=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    [[ $word == '=' ]] && continue
    if [[ $previous == -* && -n $(__flywheel_value "$path" "$previous") ]]; then previous=''; continue; fi
    next="\${path:+$path }$word"
    if __flywheel_is_path "$next"; then path="$next"; fi
    previous="$word"
  done
  [[ $current == '=' ]] && current=''
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      @files|@directories)
        compopt -o filenames 2>/dev/null
        [[ $line == @files ]] && word=-f || word=-d
        while IFS= read -r next; do COMPREPLY+=("$next"); done < <(compgen "$word" -- "$current") ;;
      @*) ;;
      "$current"*)
        word="\${line%%"$tab"*}"
        words+=("$word")
        if [[ $line == *"$tab"* ]]; then descriptions+=("\${line#*"$tab"}"); else descriptions+=(''); fi
        if ((\${#word} > widest)); then widest=\${#word}; fi ;;
    esac
  done < <(__flywheel_candidates "$path" "$previous" "$current")
  for at in "\${!words[@]}"; do
    # Only a list that is looked at gets descriptions; anything else would be typed.
    if [[ \${COMP_TYPE:-0} == 63 && \${#words[@]} -gt 1 && -n \${descriptions[at]} ]]; then
      printf -v line "%-\${widest}s  (%s)" "\${words[at]}" "\${descriptions[at]}"
      COMPREPLY+=("\${line:0:\${COLUMNS:-80}}")
    else COMPREPLY+=("\${words[at]}"); fi
  done
}
complete -F _flywheel flywheel
`;

const zsh = (nodes: readonly TreeNode[]): string => `#compdef flywheel
# flywheel completion for zsh
${posixFunctions(nodes)}
_flywheel() {
  local current="\${words[CURRENT]}" path_='' previous='' word next line tab=$'\\t'
  local -a found shown
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ $previous == -* && -n $(__flywheel_value "$path_" "$previous") ]]; then previous=''; continue; fi
    next="\${path_:+$path_ }$word"
    if __flywheel_is_path "$next"; then path_="$next"; fi
    previous="$word"
  done
  if [[ $current == --*=* ]]; then previous="\${current%%=*}"; current="\${current#*=}"; compset -P '*='; fi
  local wants=''
  while IFS= read -r line; do
    case "$line" in
      @files) wants=_files ;;
      @directories) wants='_files -/' ;;
      @*) ;;
      *)
        found+=("\${line%%$tab*}")
        if [[ $line == *$tab* ]]; then shown+=("\${line%%$tab*}  -- \${line#*$tab}"); else shown+=("$line"); fi ;;
    esac
  done < <(__flywheel_candidates "$path_" "$previous" "$current")
  if (( \${#found} )); then compadd -l -d shown -a found; fi
  if [[ -n $wants ]]; then \${=wants}; fi
}
compdef _flywheel flywheel
`;

/** Tells what may follow the words on the line, as fish asks for it. */
const FISH_COMPLETE = `function __flywheel_complete
  set -l path ''
  set -l previous ''
  set -l current (commandline -ct)
  set -l before ''
  for word in (commandline -opc)[2..-1]
    if string match -q -- '-*' "$previous"; and test -n "$(__flywheel_value "$path" "$previous")"
      set previous ''
      continue
    end
    set -l next (string trim -- "$path $word")
    __flywheel_is_path "$next"; and set path $next
    set previous $word
  end
  if string match -q -- '--*=*' "$current"
    set previous (string replace -r '=.*' '' -- "$current")
    set before "$previous="
    set current (string replace -r '^[^=]*=' '' -- "$current")
  end
  set -l lines
  if string match -q -- '-*' "$previous"
    set lines (__flywheel_value "$path" "$previous")
  end
  if test (count $lines) -eq 0
    if string match -q -- '-*' "$current"
      set lines (__flywheel_flags "$path")
    else
      set lines (__flywheel_words "$path")
    end
  end
  for line in $lines
    switch "$line"
      case @profiles @batches @operations
        command flywheel completion --values (string sub -s 2 -- $line) 2>/dev/null </dev/null
      case @files
        printf "$before%s\\n" (__fish_complete_path "$current")
      case @directories
        printf "$before%s\\n" (__fish_complete_directories "$current" '')
      case '@*'
      case '*'
        printf '%s\\n' "$before$line"
    end
  end
end
`;

const fish = (nodes: readonly TreeNode[]): string => {
  const { paths, words, flags, globals, options } = tables(nodes, FISH);
  return `# flywheel completion for fish
function __flywheel_is_path
  switch "$argv[1]"
${paths}
  end
  return 1
end
function __flywheel_words
  switch "$argv[1]"
${words}
  end
end
function __flywheel_flags
  switch "$argv[1]"
${flags}
  end
  ${globals}
end
function __flywheel_option
  switch "$argv[1]|$argv[2]"
${options}
  end
end
function __flywheel_value
  set -l value (__flywheel_option "$argv[1]" "$argv[2]")
  test (count $value) -gt 0; or set value (__flywheel_option '' "$argv[2]")
  test (count $value) -gt 0; and printf '%s\\n' $value
end
${FISH_COMPLETE}complete -c flywheel -f -a '(__flywheel_complete)'
`;
};

/** The script for a shell. */
export function completionScript(shell: Shell, nodes: readonly TreeNode[]): string {
  if (shell === 'bash') return bash(nodes);
  return shell === 'zsh' ? zsh(nodes) : fish(nodes);
}
