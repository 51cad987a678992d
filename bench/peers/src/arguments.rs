//! The command line.

use crate::laws::{Effort, Law};

pub(crate) const HELP: &str = "\
Runs the laws of a good retry on redeliver and on the other retry crates.

  --law NAME   run one law only (may be given again): cap, spread, copies, million, retry-after,
               deadline, budget, first-try, allocations, wait-cost
  --quick      fewer runs and rounds: about ten seconds
  --markdown   a Markdown table
  --json       everything, with each crate's settings

Exit code: 0, or 1 when redeliver breaks a law that was run, or 2 for a wrong argument.";

/// How the table is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Terminal,
    Markdown,
    Json,
}

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) laws: Vec<Law>,
    pub(crate) effort: Effort,
    pub(crate) form: Form,
    pub(crate) help: bool,
}

impl Arguments {
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            laws: Vec::new(),
            effort: Effort::FULL,
            form: Form::Terminal,
            help: false,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--json" => arguments.form = Form::Json,
                "--markdown" => arguments.form = Form::Markdown,
                "--quick" => arguments.effort = Effort::QUICK,
                "--help" | "-h" => arguments.help = true,
                "--law" => arguments.laws.push(law(words.next().as_deref())?),
                other => {
                    return Err(format!(
                        "unknown argument {other:?}: allowed are --law NAME, --quick, --markdown, --json, --help"
                    ));
                }
            }
        }
        arguments.laws = match arguments.laws.as_slice() {
            [] => Law::ALL.to_vec(),
            asked => Law::ALL.into_iter().filter(|law| asked.contains(law)).collect(),
        };
        Ok(arguments)
    }
}

fn law(name: Option<&str>) -> Result<Law, String> {
    let names = || Law::ALL.map(Law::name).join(", ");
    let name = name.ok_or_else(|| format!("--law needs a name: one of {}", names()))?;
    let found = Law::ALL.into_iter().find(|law| law.name() == name);
    found.ok_or_else(|| format!("--law {name:?} is not a law: one of {}", names()))
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Form};
    use crate::laws::Law;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn laws_come_in_the_tables_order_and_once() {
        let arguments = read("--law budget --law cap --law budget --json").unwrap();
        assert_eq!(arguments.laws, [Law::Cap, Law::Budget]);
        assert_eq!(arguments.form, Form::Json);
    }

    #[test]
    fn without_a_law_all_run() {
        assert_eq!(read("").unwrap().laws, Law::ALL);
    }

    #[test]
    fn a_wrong_argument_is_named_with_what_is_allowed() {
        assert!(
            read("--law gravity")
                .unwrap_err()
                .contains("\"gravity\" is not a law: one of cap, spread")
        );
        assert!(read("--law").unwrap_err().contains("needs a name"));
        assert!(read("--fast").unwrap_err().contains("--quick"));
    }
}
