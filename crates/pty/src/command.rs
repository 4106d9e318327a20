//! The program to execute, prepared so far that after the fork nothing is left but to execute it.

use std::ffi::{CStr, CString, NulError, OsStr, OsString, c_char};
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rustix::fs::{FileType, Mode, OFlags, open, stat};
use rustix::io::read;

use crate::after_fork::errno;

/// Where a tool is looked for if its environment has no PATH, as `execvp` does.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

const SHELL: &CStr = c"/bin/sh";

/// How much of a file without a known format is looked at to tell a script from a binary; bash looks at as much.
const SCRIPT_SAMPLE: usize = 80;

/// Why a program that is there cannot be executed: what its first line, or its header, names is not there. The kernel has
/// no number for it; this one says the nearest, that something needed cannot be accessed.
pub const NO_INTERPRETER: i32 = libc::ELIBACC;

/// Arguments, environment and the files to try, as the kernel wants them.
pub(crate) struct ExecImage {
    candidates: Vec<CString>,
    /// Found by a search, so that a file we may not even see is as good as none.
    is_searched: bool,
    arguments: PointerList,
    environment: PointerList,
    /// The arguments if a shell has to run it: the shell, a place for the file, and the tool's own arguments.
    shell_arguments: Vec<*const c_char>,
}

impl ExecImage {
    pub(crate) fn new(
        program: &OsStr,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> Result<Self, NulError> {
        let words = iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
        let arguments = PointerList::new(words.map(|word| word.as_bytes().to_vec()))?;
        let mut shell_arguments = vec![SHELL.as_ptr(), ptr::null()];
        shell_arguments.extend(arguments.pointers.iter().skip(1));

        let variables =
            environment.iter().map(|(key, value)| [key.as_bytes(), b"=", value.as_bytes()].concat());
        Ok(Self {
            candidates: candidates(program, environment)?,
            is_searched: is_searched(program),
            arguments,
            environment: PointerList::new(variables)?,
            shell_arguments,
        })
    }

    /// Becomes the program, as a shell would find it; returns only if it cannot, and why. Runs after the fork.
    ///
    /// ENOENT: there is none (127, in the words of a shell). Anything else: there is one that cannot be run (126). The
    /// kernel says ENOENT also of a file whose interpreter or loader is missing; that is told as [`NO_INTERPRETER`].
    pub(crate) fn exec(&mut self) -> i32 {
        let mut refusal = libc::ENOENT;
        for candidate in &self.candidates {
            match execute(candidate, &self.arguments.pointers, &self.environment.pointers) {
                libc::ENOENT if is_file(candidate) => refusal = NO_INTERPRETER,
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES if self.is_searched && !is_file(candidate) => {}
                libc::EACCES => refusal = libc::EACCES,
                libc::ENOEXEC if is_script(candidate) => {
                    if let Some(place) = self.shell_arguments.get_mut(1) {
                        *place = candidate.as_ptr();
                    }
                    return execute(SHELL, &self.shell_arguments, &self.environment.pointers);
                }
                errno => return errno,
            }
        }
        refusal
    }
}

/// Strings, and the list of pointers to them that ends in null. The pointers stay valid because the strings are never
/// touched again, and moving a `CString` does not move its text.
struct PointerList {
    pointers: Vec<*const c_char>,
    _strings: Vec<CString>,
}

impl PointerList {
    fn new(strings: impl Iterator<Item = Vec<u8>>) -> Result<Self, NulError> {
        let strings: Vec<_> = strings.map(CString::new).collect::<Result<_, _>>()?;
        let pointers = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Ok(Self { pointers, _strings: strings })
    }
}

fn is_searched(program: &OsStr) -> bool {
    !program.as_bytes().contains(&b'/')
}

fn candidates(program: &OsStr, environment: &[(OsString, OsString)]) -> Result<Vec<CString>, NulError> {
    let name = program.as_bytes();
    if name.is_empty() {
        return Ok(Vec::new());
    }
    if !is_searched(program) {
        return Ok(vec![CString::new(name)?]);
    }
    let path =
        environment.iter().find(|(key, _)| key == "PATH").map_or(DEFAULT_PATH, |(_, value)| value.as_bytes());
    path.split(|&byte| byte == b':').map(|directory| candidate(directory, name)).collect()
}

fn candidate(directory: &[u8], name: &[u8]) -> Result<CString, NulError> {
    // An empty entry of PATH means the current directory.
    let directory = if directory.is_empty() { b"." } else { directory };
    CString::new([directory, b"/", name].concat())
}

fn execute(file: &CStr, arguments: &[*const c_char], environment: &[*const c_char]) -> i32 {
    // SAFETY: both lists end in null and point to strings that live as long as the image they belong to.
    unsafe { libc::execve(file.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    errno()
}

fn is_file(path: &CStr) -> bool {
    stat(path).is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile)
}

/// A file that the kernel cannot execute is a script for the shell unless its first line holds a NUL, as in a binary
/// for another machine. That is bash's rule; without it the shell would read the binary and complain in riddles.
fn is_script(path: &CStr) -> bool {
    let mut sample = [0_u8; SCRIPT_SAMPLE];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let count = open(path, flags, Mode::empty()).and_then(|file| read(file, &mut sample));
    let Ok(count) = count else { return false };
    let mut first_line = sample.iter().take(count).take_while(|&&byte| byte != b'\n');
    !first_line.any(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, path: Option<&str>, expected: &[&str]) {
        let environment: Vec<_> = path.map(|path| ("PATH".into(), path.into())).into_iter().collect();
        let found = candidates(OsStr::new(program), &environment).unwrap();
        let found: Vec<_> = found.iter().map(|candidate| candidate.to_str().unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_is_looked_for_where_a_shell_would() {
        check("ls", Some("/a:/b"), &["/a/ls", "/b/ls"]);
        check("ls", Some(":/b:"), &["./ls", "/b/ls", "./ls"]);
        check("ls", None, &["/bin/ls", "/usr/bin/ls"]);
        check("./ls", Some("/a"), &["./ls"]);
        check("/x/ls", Some("/a"), &["/x/ls"]);
        check("", Some("/a"), &[]);
    }

    #[test]
    fn a_nul_byte_is_refused() {
        assert!(ExecImage::new(OsStr::new("a\0b"), &[], &[]).is_err());
        assert!(ExecImage::new(OsStr::new("a"), &["b\0".into()], &[]).is_err());
        assert!(ExecImage::new(OsStr::new("a"), &[], &[("K".into(), "v\0".into())]).is_err());
    }
}
