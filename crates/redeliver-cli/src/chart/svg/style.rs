/// Series beyond this many start again with the first colour.
pub(super) const COLOURS: usize = 8;

/// Plain classes instead of variables: some viewers that people convert with know no variables. Each colour of a series keeps a contrast
/// of at least 4.5 to its background, as text must.
pub(super) const STYLE: &str = "\
text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:17px;font-weight:600}
.heading{font-size:13px;font-weight:600}
.soft{fill:#59636e}
.paper{fill:#ffffff}
.grid{stroke:#d1d9e0;stroke-width:1}
.rule{stroke:#818b98;stroke-width:1}
.mark{stroke:#cf222e;stroke-width:1.5;stroke-dasharray:5 4}
.marked{fill:#cf222e}
.span{fill:#818b98;fill-opacity:.16}
.certain{fill:#0969da;fill-opacity:.24}
.chance{fill:#0969da}
.mean{fill:#ffffff;stroke:#0b3d78;stroke-width:1.5}
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.again{stroke-dasharray:6 4}
.area{fill-opacity:.1}
.s0{stroke:#0969da}.f0{fill:#0969da}
.s1{stroke:#bc4c00}.f1{fill:#bc4c00}
.s2{stroke:#1a7f37}.f2{fill:#1a7f37}
.s3{stroke:#a1248f}.f3{fill:#a1248f}
.s4{stroke:#8a6100}.f4{fill:#8a6100}
.s5{stroke:#0b6e75}.f5{fill:#0b6e75}
.s6{stroke:#cf222e}.f6{fill:#cf222e}
.s7{stroke:#59636e}.f7{fill:#59636e}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.soft{fill:#9198a1}
.paper{fill:#0d1117}
.grid{stroke:#2a313c}
.rule{stroke:#656c76}
.mark{stroke:#ff7b72}
.marked{fill:#ff7b72}
.span{fill:#9198a1;fill-opacity:.18}
.certain{fill:#58a6ff;fill-opacity:.28}
.chance{fill:#58a6ff}
.mean{fill:#0d1117;stroke:#cae8ff}
.area{fill-opacity:.14}
.s0{stroke:#58a6ff}.f0{fill:#58a6ff}
.s1{stroke:#f0883e}.f1{fill:#f0883e}
.s2{stroke:#3fb950}.f2{fill:#3fb950}
.s3{stroke:#e275d0}.f3{fill:#e275d0}
.s4{stroke:#d4a72c}.f4{fill:#d4a72c}
.s5{stroke:#39c5cf}.f5{fill:#39c5cf}
.s6{stroke:#ff7b72}.f6{fill:#ff7b72}
.s7{stroke:#9198a1}.f7{fill:#9198a1}
}
";
