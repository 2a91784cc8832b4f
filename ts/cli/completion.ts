/** `siftd completion`: prints completion scripts for shells. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { optionFlags } from '../launch/index.js'
import { type CommandEntry, defineCommand, examples } from './command/index.js'

const shells = ['bash', 'zsh', 'fish'] as const

/** Completions after the words of a command. */
interface Words {
  /** The command, such as `documents get`; empty for the program itself. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly summary: string }[]
  readonly flags: readonly { readonly name: string; readonly summary: string }[]
}

/** @param commands returns all commands; a function, since the list includes this command */
export const completion = (commands: () => readonly CommandEntry[]) =>
  defineCommand('completion', (command, output) => {
    command.description(`Prints a script that completes commands and options in a shell.`).addHelpText(
      'after',
      examples(`
          siftd completion bash > /etc/bash_completion.d/siftd
          source <(siftd completion zsh)
          siftd completion fish > ~/.config/fish/completions/siftd.fish`),
    )
    for (const shell of shells)
      command
        .command(shell)
        .summary(`for ${shell}`)
        .description(`Prints the script for ${shell}.`)
        .addHelpText('after', examples(`siftd completion ${shell}`))
        .action(async () => output.line(scripts[shell](await wordsOf(commands()))))
  })

async function wordsOf(entries: readonly CommandEntry[]): Promise<readonly Words[]> {
  const top: Words = {
    path: '',
    commands: entries,
    flags: optionFlags().map(({ flag, help }) => ({ name: `--${flag}`, summary: help })),
  }
  const all: Words[] = [top]
  const collect = (path: string, command: CommandUnknownOpts): void => {
    all.push({
      path,
      commands: command.commands.map((one) => ({ name: one.name(), summary: one.summary() })),
      flags: [
        ...command.options.flatMap(({ long, description }) =>
          long == null ? [] : [{ name: long, summary: description }],
        ),
        { name: '--help', summary: 'Prints the help' },
      ],
    })
    for (const one of command.commands) collect(`${path} ${one.name()}`, one)
  }
  for (const { name, load } of entries) collect(name, (await load()).describe())
  return all
}

const wordList = ({ commands, flags }: Words): string =>
  [...commands, ...flags].map(({ name }) => name).join(' ')

/** The words of the line that are not options, joined by spaces, are the command. */
const bash = (all: readonly Words[]): string => `# bash completion for siftd
_siftd() {
  local word path="" candidate words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    candidate="\${path:+$path }$word"
    case "$candidate" in
      ${all
        .filter(({ path }) => path !== '')
        .map(({ path }) => `'${path}'`)
        .join('|')}) path=$candidate ;;
    esac
  done
  case "$path" in
${all.map((words) => `    '${words.path}') words='${wordList(words)}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _siftd siftd`

/** Uses the bash function in zsh. */
const zsh = (all: readonly Words[]): string => `#compdef siftd
autoload -U +X bashcompinit && bashcompinit
${bash(all)}`

const fish = (all: readonly Words[]): string => {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = all.flatMap(({ path, commands, flags }) => {
    const names = path.split(' ').filter((name) => name !== '')
    const isHere = [
      ...names.map((name) => `__fish_seen_subcommand_from ${name}`),
      ...(commands.length === 0
        ? []
        : [`not __fish_seen_subcommand_from ${commands.map(({ name }) => name).join(' ')}`]),
    ].join('; and ')
    return [
      ...commands.map(
        ({ name, summary }) => `complete -c siftd -f -n ${quoted(isHere)} -a ${name} -d ${quoted(summary)}`,
      ),
      ...flags.map(
        ({ name, summary }) =>
          `complete -c siftd -n ${quoted(isHere)} -l ${name.slice(2)} -d ${quoted(summary)}`,
      ),
    ]
  })
  return ['# fish completion for siftd', ...lines].join('\n')
}

const scripts = { bash, zsh, fish } as const
