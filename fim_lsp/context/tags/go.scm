(type_declaration (type_spec name: (type_identifier)) @whole)
(type_declaration (type_alias name: (type_identifier)) @whole)
(function_declaration name: (identifier)) @whole
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) (pointer_type (type_identifier)) (generic_type type: (type_identifier)) (pointer_type (generic_type type: (type_identifier)))])) name: (field_identifier)) @whole
(method_elem name: (field_identifier)) @whole
