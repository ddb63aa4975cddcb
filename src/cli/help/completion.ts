/** Completion scripts for shells: each asks `flywheel __complete` what may follow. */

/** Shells that a script can be written for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# flywheel completion for bash
_flywheel() {
  local line name kind current="\${COMP_WORDS[COMP_CWORD]}"
  [[ $current == '=' ]] && current=''
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      @files|@directories)
        compopt -o filenames 2>/dev/null
        [[ $line == @files ]] && kind=-f || kind=-d
        while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen "$kind" -- "$current") ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(command flywheel __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -F _flywheel flywheel
`,
  zsh: `#compdef flywheel
# flywheel completion for zsh
_flywheel() {
  local line tab=$'\\t'
  local -a found shown
  for line in "\${(@f)$(command flywheel __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
    case "$line" in
      '') ;;
      @files) compset -P '*='; _files ;;
      @directories) compset -P '*='; _files -/ ;;
      *) found+=("\${line%%$tab*}"); shown+=("\${line/$tab/  -- }") ;;
    esac
  done
  if (( \${#found} )); then compadd -l -d shown -a found; fi
}
compdef _flywheel flywheel
`,
  fish: `# flywheel completion for fish
function __flywheel_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -l path (string replace -r '^--[^=]*=' '' -- "$current")
  for line in (command flywheel __complete -- $words[2..-1] "$current" 2>/dev/null </dev/null)
    switch "$line"
      case @files
        __fish_complete_path "$path"
      case @directories
        __fish_complete_directories "$path" ''
      case '*'
        printf '%s\\n' "$line"
    end
  end
end
complete -c flywheel -f -a '(__flywheel_complete)'
`,
};

/** The script for a shell. */
export const completionScript = (shell: Shell): string => SCRIPTS[shell];
