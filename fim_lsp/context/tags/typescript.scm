(class_declaration name: (type_identifier)) @whole
(abstract_class_declaration name: (type_identifier)) @whole
(interface_declaration name: (type_identifier)) @whole
(type_alias_declaration name: (type_identifier)) @whole
(enum_declaration name: (identifier)) @whole
(function_declaration name: (identifier)) @whole
(generator_function_declaration name: (identifier)) @whole
(function_signature name: (identifier)) @whole
(method_definition name: (property_identifier)) @whole
(method_signature name: (property_identifier)) @whole
(abstract_method_signature name: (property_identifier)) @whole
(program (lexical_declaration (variable_declarator name: (identifier) value: (arrow_function))) @whole)
(export_statement (lexical_declaration (variable_declarator name: (identifier) value: (arrow_function))) @whole)
