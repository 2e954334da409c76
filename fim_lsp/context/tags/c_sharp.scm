(class_declaration name: (identifier)) @whole
(struct_declaration name: (identifier)) @whole
(interface_declaration name: (identifier)) @whole
(record_declaration name: (identifier)) @whole
(enum_declaration name: (identifier)) @whole
(method_declaration name: (identifier)) @whole
(constructor_declaration name: (identifier)) @whole
(delegate_declaration name: (identifier)) @whole
