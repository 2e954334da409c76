(class_declaration name: (identifier)) @whole
(function_declaration name: (identifier)) @whole
(generator_function_declaration name: (identifier)) @whole
(method_definition name: (property_identifier)) @whole
(program (lexical_declaration (variable_declarator name: (identifier) value: (arrow_function))) @whole)
(export_statement (lexical_declaration (variable_declarator name: (identifier) value: (arrow_function))) @whole)
(assignment_expression left: (member_expression property: (property_identifier)) right: [(function_expression) (arrow_function)]) @whole
